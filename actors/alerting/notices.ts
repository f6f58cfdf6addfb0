/**
 * Notices about alerting itself and its data, displayed in the project without any destination: a
 * reached limit, a paused destination, readings that cannot be stored. A notice lasts until its
 * cause ends. Raising it again before that changes only its text.
 */
import type { AccessNotice } from '../identity/access-notices.ts';
import type { Draft } from '../platform/host/host-port.ts';
import { oneLine } from '../platform/plain-text.ts';

declare module '../platform/host/rows.ts' {
  interface RecordBodies {
    notice: NoticeBody | AccessNotice;
  }
}

/** Causes of notices. The name is part of the API, and of records of earlier versions. */
export type NoticeKind =
  | 'INSTANCE_LIMIT'
  | 'DESTINATION_PAUSED'
  | 'MESSAGES_REFUSED'
  | 'RECIPIENT_BOUNCED'
  | 'READINGS_REFUSED'
  | 'VM_CONTESTED';

/** Body of a record of kind `notice`. Times are Unix ms. */
export interface NoticeBody {
  readonly kind: NoticeKind;
  readonly subject: NoticeSubject;
  /** The event and the next step, on one line, without secrets or addresses. */
  readonly text: string;
  readonly raisedMs: number;
  /** null while it lasts. */
  readonly endedMs: number | null;
}

/** The resource that a notice is about. */
export interface NoticeSubject {
  /** `projects`: the project as a whole. */
  readonly collection: 'alertRules' | 'destinations' | 'vms' | 'projects';
  readonly id: string;
}

const TEXT_CHARS_MAX = 1_000;

/** Raises the notice, in the decision that makes it true. */
export function raiseNotice(
  draft: Draft,
  notice: Pick<NoticeBody, 'kind' | 'subject' | 'text'>,
): void {
  const before = lastingNotice(draft, notice);
  const raisedMs = before?.raisedMs ?? draft.at;
  const text = oneLine(notice.text, TEXT_CHARS_MAX);
  if (before?.text === text) return;
  put(draft, { ...notice, text, raisedMs, endedMs: null });
}

/** Ends the open notice, if there is one. */
export function endNotice(draft: Draft, notice: Pick<NoticeBody, 'kind' | 'subject'>): void {
  const before = lastingNotice(draft, notice);
  if (before) put(draft, { ...before, endedMs: draft.at });
}

function lastingNotice(
  draft: Draft,
  notice: Pick<NoticeBody, 'kind' | 'subject'>,
): NoticeBody | undefined {
  const body = draft.record('notice', idOf(notice))?.body;
  if (body === undefined || body.kind === 'ACCESS_CHANGED') return undefined;
  return body.endedMs === null ? body : undefined;
}

/** One notice per kind and subject. A new one replaces one that has ended. */
function idOf({ kind, subject }: Pick<NoticeBody, 'kind' | 'subject'>): string {
  return `${kind.toLowerCase().replaceAll('_', '-')}-${subject.id}`;
}

function put(draft: Draft, body: NoticeBody): void {
  const sort = String(body.raisedMs).padStart(15, '0');
  draft.putRecord({ kind: 'notice', id: idOf(body), body: { ...body }, sort });
}
