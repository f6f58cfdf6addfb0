/**
 * Open sessions and sign-in links of a person, in one record, so that one decision can end all of
 * them. Both are bounded: a further one ends the oldest.
 */
import type { Draft, ProjectView } from '../platform/host/host-port.ts';

declare module '../platform/host/rows.ts' {
  interface RecordBodies {
    signIns: SignIns;
  }
}

/** Maximum sessions of one person at a time. */
export const SESSIONS_MAX = 50;
/** Maximum unused sign-in links of one person at a time. */
export const LINKS_MAX = 10;

const KIND = 'signIns';

/** The body of one person's record; its ids are those of rows. */
export interface SignIns {
  /** Ids, oldest first. */
  readonly sessions: readonly string[];
  readonly links: readonly string[];
}

/** Sessions and links that are still open. */
export function signInsOf(view: Pick<ProjectView, 'record' | 'instance'>, person: string): SignIns {
  const body = view.record(KIND, person)?.body;
  const open = (machine: 'session' | 'signInLink', ids: readonly string[] = []) =>
    ids.filter((id) => view.instance(machine, id)?.final === false);
  return { sessions: open('session', body?.sessions), links: open('signInLink', body?.links) };
}

/** True if the person ever had a session or a sign-in link. */
export function hasSignIns(view: Pick<ProjectView, 'record'>, person: string): boolean {
  return view.record(KIND, person) !== undefined;
}

/**
 * Revokes the unused links of a person in a decision of `_system`: all, or those of one session.
 */
export function revokeLinks(
  draft: Draft,
  person: string,
  reason: string,
  confirmedBy?: string,
): void {
  for (const id of signInsOf(draft, person).links) {
    const confirmer = draft.instance('signInLink', id)?.context.confirmedBy;
    if (confirmedBy !== undefined && confirmer !== confirmedBy) continue;
    draft.send('signInLink', id, { type: 'revoked', at: draft.at, reason });
  }
}

/** Ends all sessions and links in a decision of `_system`; returns the number of sessions. */
export function endSignIns(draft: Draft, person: string, reason: string): number {
  const { sessions } = signInsOf(draft, person);
  for (const id of sessions) draft.send('session', id, { type: 'ended', at: draft.at, reason });
  revokeLinks(draft, person, reason);
  return sessions.length;
}

/** Records a session or link that the same decision starts. Beyond the bound, the oldest ends. */
export function recordSignIn(
  draft: Draft,
  person: string,
  what: 'session' | 'link',
  id: string,
): void {
  const { sessions, links } = signInsOf(draft, person);
  const at = draft.at;
  const kept =
    what === 'session'
      ? { sessions: [...sessions, id].slice(-SESSIONS_MAX), links }
      : { sessions, links: [...links, id].slice(-LINKS_MAX) };
  for (const session of sessions.filter((each) => !kept.sessions.includes(each))) {
    draft.send('session', session, { type: 'ended', at, reason: 'TOO_MANY' });
  }
  for (const link of links.filter((each) => !kept.links.includes(each))) {
    draft.send('signInLink', link, { type: 'revoked', at, reason: 'TOO_MANY' });
  }
  draft.putRecord({ kind: KIND, id: person, body: { ...kept } });
}
