/**
 * Notes of rejected exchanges, at most one per minute and connection, so that a stranger cannot
 * fill the audit log. The first refusal of a burst is recorded at once. Later ones are collected
 * into the next note, each counted under its own code, so that garbage cannot hide a mismatch.
 * Stopping the service writes pending notes; a killed process loses at most the refusals of the
 * last minute. Each refusal has the correlation id of the note that counts it.
 */
import type { CiClaimDifference } from '../../machines/ci/ci-connection.ts';
import type { CancelWakeUp, Clock } from '../../streams/platform/clock.ts';
import { type Random, ulid } from '../../streams/platform/random.ts';
import type { Draft, Host, Instance } from '../platform/host/host-port.ts';

/** Minimum time between two notes of one connection or verification, ms. */
export const APART_MS = 60_000;

/**
 * One refusal. The only parts that the stranger could have chosen are the code, the compared claims,
 * and the run among the runs of their own.
 */
export interface RefusedExchange {
  /** Reason and cause, e.g. `IDENTITY_MISMATCH`, one of about two dozen. */
  readonly code: string;
  readonly differences: readonly CiClaimDifference[];
  /** The platform's number of the run; absent if its token could not be verified. */
  readonly run?: string;
}

/** Maximum runs that a note names. */
const RUNS_MAX = 5;

/** The host that commits notes. */
export interface RefusalNotesDeps {
  readonly host: Pick<Host, 'submit' | 'view'>;
  readonly clock: Clock;
  readonly random: Random;
  /** Called with the number of refusals that could not be recorded. */
  readonly onLost: (refusals: number, error: unknown) => void;
}

interface Note {
  readonly project: string;
  readonly connection: string;
  readonly correlation: string;
  /** Number of refusals by code. */
  readonly codes: Map<string, number>;
  /** By claim and difference. */
  readonly differences: Map<string, CiClaimDifference>;
  readonly runs: Set<string>;
}

interface Held {
  readonly note: Note;
  readonly cancel: CancelWakeUp;
}

/**
 * Notes of one node. At most one is pending per connection, so that memory is bounded by their
 * number.
 */
export class RefusalNotes {
  readonly #deps: RefusalNotesDeps;
  /** By id of the connection; at most one each. */
  readonly #held = new Map<string, Held>();
  readonly #writing = new Map<string, Promise<void>>();

  constructor(deps: RefusalNotesDeps) {
    this.#deps = deps;
  }

  /** A correlation id without a note, for a refusal that is only counted. */
  correlation(): string {
    return ulid(this.#deps.clock.now(), this.#deps.random);
  }

  /**
   * Records a rejected exchange, now or in the next note, and returns the id of that note. Callers
   * do not wait for the write, because its duration would reveal that the connection exists.
   */
  add(connection: Instance<'ciConnection'>, refused: RefusedExchange): string {
    const { code, differences, run } = refused;
    const { instance: id, project } = connection;
    const held = this.#held.get(id);
    if (held) {
      const { note } = held;
      note.codes.set(code, (note.codes.get(code) ?? 0) + 1);
      for (const one of differences) note.differences.set(keyOf(one), one);
      if (run !== undefined && note.runs.size < RUNS_MAX) note.runs.add(run);
      return note.correlation;
    }
    const note: Note = {
      project,
      connection: id,
      correlation: this.correlation(),
      codes: new Map([[code, 1]]),
      differences: new Map(differences.map((one) => [keyOf(one), one])),
      runs: new Set(run === undefined ? [] : [run]),
    };
    const waitMs = this.#waitMs(connection);
    if (waitMs > 0) this.#hold(note, waitMs);
    else void this.#write(note);
    return note.correlation;
  }

  /** Resolves when no note is being written. */
  async settled(): Promise<void> {
    await Promise.all(this.#writing.values());
  }

  /** Writes the pending notes. */
  async close(): Promise<void> {
    const held = [...this.#held.values()];
    this.#held.clear();
    for (const { cancel } of held) cancel();
    await this.settled();
    await Promise.all(held.map(({ note }) => this.#write(note, { evenIfEarly: true })));
  }

  /**
   * Wait before the note may be written, ms. Reads the row again, because the caller's may be
   * outdated.
   */
  #waitMs({ project, instance }: Instance<'ciConnection'>): number {
    if (this.#writing.has(instance)) return APART_MS;
    const row = this.#deps.host.view(project).instance('ciConnection', instance);
    const lastRefusalMs = row?.context?.lastRefusalMs ?? null;
    if (lastRefusalMs === null) return 0;
    // At most a minute, even after a jump of the clock.
    return Math.min(lastRefusalMs + APART_MS - this.#deps.clock.now(), APART_MS);
  }

  #hold(note: Note, waitMs: number): void {
    const cancel = this.#deps.clock.wakeAfter(waitMs, () => {
      this.#held.delete(note.connection);
      void this.#write(note);
    });
    this.#held.set(note.connection, { note, cancel });
  }

  #write(note: Note, { evenIfEarly = false } = {}): Promise<void> {
    const writing = this.#submit(note, evenIfEarly)
      .catch((error: unknown) => this.#deps.onLost(refusalsIn(note), error))
      .finally(() => this.#writing.delete(note.connection));
    this.#writing.set(note.connection, writing);
    return writing;
  }

  async #submit(note: Note, evenIfEarly: boolean): Promise<void> {
    const { answer } = await this.#deps.host.submit({
      project: note.project,
      by: { kind: 'service', name: 'keyless CI' },
      decide: (draft) => ({ earlyMs: noteInDraft(draft, note, evenIfEarly) }),
    });
    if (answer.earlyMs === 0) return;
    if (this.#held.has(note.connection)) await this.#submit(note, true);
    else this.#hold(note, answer.earlyMs);
  }
}

function keyOf({ claim, difference }: CiClaimDifference): string {
  return `${claim} ${difference}`;
}

function byKey([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : 1;
}

function refusalsIn({ codes }: Note): number {
  return [...codes.values()].reduce((sum, count) => sum + count, 0);
}

/**
 * 0: recorded. Otherwise another node has just recorded one, and this is the wait before the next,
 * ms.
 */
function noteInDraft(draft: Draft, note: Note, evenIfEarly: boolean): number {
  const { connection, correlation } = note;
  const row = draft.instance('ciConnection', connection);
  // The connection was deleted, so the note has no subject.
  if (!row || row.final) return 0;
  const { lastRefusalMs } = row.context;
  const sinceMs = draft.at - (lastRefusalMs ?? Number.NEGATIVE_INFINITY);
  if (sinceMs < APART_MS && !evenIfEarly) return APART_MS - sinceMs;
  const differences = [...note.differences].sort(byKey).map(([, one]) => one);
  const claims = [...new Set(differences.map(({ claim }) => claim))];
  const codes = Object.fromEntries(note.codes);
  const about = { correlation, codes, claims, differences, refusals: refusalsIn(note) };
  const runs = note.runs.size === 0 ? {} : { runs: [...note.runs] };
  draft.send('ciConnection', connection, {
    type: 'exchangeRefused',
    at: draft.at,
    ...about,
    ...runs,
  });
  return 0;
}
