/**
 * Acts on an incident: acknowledge, snooze, unsnooze. They require a firing incident. This is
 * checked inside the decision, at the project's head, so an earlier recovery wins. No act stops the
 * evaluation or ends the incident.
 */
import { type Actor, COMMIT_BYTES_MAX } from '../../streams/platform/commit/commit.ts';
import { invalidField, Refusal } from '../../streams/platform/refusal.ts';
import type { Committed, Draft, EventOf, Host, RequestKey } from '../platform/host/host-port.ts';
import { isPlainText } from '../platform/plain-text.ts';

/** Longest snooze, ms (API-25). */
const SNOOZE_MS_MAX = 7 * 86_400_000;
/** Maximum incidents per act. */
export const INCIDENTS_MAX = 200;
/** Approximate bytes of an incident in a commit: its step, its instance's row and its record. */
const INCIDENT_BYTES = 4 * 1024;
/** Copies of a note in these bytes. */
const NOTE_COPIES = 4;
/** Maximum characters of a note. */
const NOTE_CHARACTERS_MAX = 1_000;

/** One act of a caller on one incident. Resending it with the same request key changes nothing. */
export interface IncidentAction {
  /** Project id. */
  readonly project: string;
  readonly by: Actor;
  readonly request: RequestKey;
  /** The incident's id. */
  readonly id: string;
}

/** An acknowledgement; `note` is free text, '' for none. */
export type Acknowledge = IncidentAction & { readonly note: string };
/** `untilMs`: end of the snooze, Unix ms. */
export type Snooze = IncidentAction & { readonly untilMs: number };

/** Unique ids of incidents, at most `INCIDENTS_MAX`. */
export type ActionOnSeveral = Omit<IncidentAction, 'id'> & { readonly ids: readonly string[] };

/** Result of an act for one of several incidents. Without a refusal, it succeeded. */
export interface ActionResult {
  readonly id: string;
  readonly refusal?: { readonly reason: string; readonly message: string };
}

type Done = Promise<Committed<Record<string, never>>>;
type DoneForSeveral = Promise<readonly ActionResult[]>;

/**
 * Each method throws a `Refusal`: NOT_FOUND, INVALID_STATE (it has ended), and those of the host.
 */
export interface IncidentActions {
  /**
   * Records an acknowledgement. Only the first one counts; a second one changes nothing. Throws
   * INVALID_FIELD for a note that is too long.
   */
  acknowledge(act: Acknowledge): Done;
  /** Snoozes; a second call replaces the end. Throws INVALID_FIELD for a time not in (now, 7 days]. */
  snooze(act: Snooze): Done;
  /** Ends the snooze. No-op if there is none. */
  unsnooze(act: IncidentAction): Done;
  /**
   * Acts on several incidents, in commits of bounded size. A failure for one of them is its result
   * and does not affect the others. Throws INVALID_FIELD for faults of the whole request. After any
   * other error, some may be done: a resend gets the same results for these, and does the rest.
   */
  acknowledgeSeveral(act: ActionOnSeveral & { readonly note: string }): DoneForSeveral;
  snoozeSeveral(act: ActionOnSeveral & { readonly untilMs: number }): DoneForSeveral;
}

type EventFor = (about: { at: number; by: string }) => EventOf<'alertInstance'>;

/**
 * Wraps the host. Each act throws a `Refusal` NOT_FOUND, or INVALID_STATE for an incident that does
 * not fire.
 */
export function createIncidentActions(host: Pick<Host, 'submit'>): IncidentActions {
  const submit = (
    { project, by, request, id }: IncidentAction,
    verb: string,
    eventOf: EventFor,
  ): Done =>
    host.submit({
      project,
      by,
      request,
      decide(draft) {
        const instance = firingInstance(draft, id, verb);
        draft.send('alertInstance', instance, eventOf({ by: by.name, at: draft.at }));
        return {};
      },
    });
  return {
    async acknowledge({ note, ...act }) {
      checkNote(note);
      return submit(act, 'acknowledged', (about) => ({ type: 'acknowledged', note, ...about }));
    },
    snooze: ({ untilMs, ...act }) =>
      submit(act, 'snoozed', (about) => {
        checkEnd(untilMs, about.at);
        return { type: 'snoozed', untilMs, ...about };
      }),
    unsnooze: (act) => submit(act, 'unsnoozed', (about) => ({ type: 'unsnoozed', ...about })),
    async acknowledgeSeveral({ note, ...act }) {
      checkNote(note);
      const eventOf: EventFor = (about) => ({ type: 'acknowledged', note, ...about });
      return await submitSeveral(host, act, 'acknowledged', eventOf, note);
    },
    snoozeSeveral: ({ untilMs, ...act }) =>
      submitSeveral(host, act, 'snoozed', (about) => {
        checkEnd(untilMs, about.at);
        return { type: 'snoozed', untilMs, ...about };
      }),
  };
}

async function submitSeveral(
  host: Pick<Host, 'submit'>,
  { ids, request, ...by }: ActionOnSeveral,
  verb: string,
  eventOf: EventFor,
  note = '',
): DoneForSeveral {
  const bytesEach = INCIDENT_BYTES + NOTE_COPIES * Buffer.byteLength(note);
  const count = Math.max(1, Math.floor(COMMIT_BYTES_MAX / bytesEach));
  const results: ActionResult[] = [];
  for (let from = 0; from < ids.length; from += count) {
    // Each part is a request of its own under the client's id, so that it is committed only once.
    const scope = from === 0 ? request.scope : `${request.scope} from ${from}`;
    const part = { ...by, ids: ids.slice(from, from + count), request: { ...request, scope } };
    results.push(...(await submitPart(host, part, verb, eventOf)));
  }
  return results;
}

async function submitPart(
  host: Pick<Host, 'submit'>,
  { project, by, request, ids }: ActionOnSeveral,
  verb: string,
  eventOf: EventFor,
): DoneForSeveral {
  const { answer } = await host.submit({
    project,
    by,
    request,
    decide(draft) {
      const event = eventOf({ by: by.name, at: draft.at });
      const results = ids.map((id): ActionResult => {
        const instance = firingOrRefusal(draft, id, verb);
        if (instance instanceof Refusal) {
          const { reason, message } = instance;
          return { id, refusal: { reason, message } };
        }
        draft.send('alertInstance', instance, event);
        return { id };
      });
      return { results };
    },
  });
  return answer.results;
}

function firingOrRefusal(draft: Draft, id: string, verb: string): string | Refusal {
  try {
    return firingInstance(draft, id, verb);
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
}

/** Id of the incident's alert instance. Throws unless the incident fires. */
function firingInstance(draft: Draft, id: string, verb: string): string {
  const body = draft.record('incident', id)?.body;
  if (!body) throw new Refusal('NOT_FOUND', `There is no incident ${id} in the project`);
  const row = draft.instance('alertInstance', body.alertInstance);
  const context = row?.context;
  const isOpen = body.state === 'FIRING' && context?.incident?.id === id && row?.final === false;
  if (isOpen) return body.alertInstance;
  const ended = body.state === 'RETIRED' ? 'was retired' : 'has recovered';
  const message = `The incident ${ended}. Only a firing incident can be ${verb}`;
  throw new Refusal('INVALID_STATE', message, { state: body.state });
}

function checkNote(note: string): void {
  if (!isPlainText(note)) {
    const message = 'note contains control or invisible characters. Send plain text';
    throw invalidField('note', message);
  }
  const characters = [...note].length;
  if (characters <= NOTE_CHARACTERS_MAX) return;
  const message = `note has ${characters} characters; at most ${NOTE_CHARACTERS_MAX} are allowed`;
  throw invalidField('note', message);
}

function checkEnd(untilMs: number, at: number): void {
  const field = 'untilUnix';
  if (untilMs <= at) {
    const message = `untilUnix is not after now, ${Math.ceil(at / 1000)}. Send the time when to notify again`;
    throw invalidField(field, message);
  }
  if (untilMs <= at + SNOOZE_MS_MAX) return;
  const latest = Math.floor((at + SNOOZE_MS_MAX) / 1000);
  const message = `untilUnix is more than seven days from now; at most ${latest} is allowed`;
  throw invalidField(field, message);
}
