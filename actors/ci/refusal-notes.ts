/**
 * Notes of refused exchanges, at most one a minute for each connection, so that a stranger's tries
 * cannot fill the audit. The first of a burst is noted at once; those after it are gathered into the
 * next note, each counted under its own code, so that a stranger's garbage cannot label a mismatch.
 * A stop of the service writes what is held; a process that is killed loses it: the refusals of at
 * most the last minute. Each refusal is told the correlation id of the note that counts it.
 */
import type { CiConnectionContext } from '../../machines/ci/ci-connection.ts';
import type { CancelWakeUp, Clock } from '../../streams/platform/clock.ts';
import { type Random, ulid } from '../../streams/platform/random.ts';
import type { Draft, Host, Instance } from '../platform/host/host-port.ts';

/** Between two notes of one connection or verification at least, ms. */
export const APART_MS = 60_000;

export interface RefusedExchange {
  /** Reason and cause, e.g. `IDENTITY_MISMATCH`: one of two dozen, since no caller makes them up. */
  readonly code: string;
  /** Names of the claims that differ. */
  readonly claims: readonly string[];
}

export interface RefusalNotesDeps {
  readonly host: Pick<Host, 'submit' | 'view'>;
  readonly clock: Clock;
  readonly random: Random;
  /** So many refusals were not noted, because of this. */
  readonly onLost: (refusals: number, error: unknown) => void;
}

interface Note {
  readonly project: string;
  readonly connection: string;
  readonly correlation: string;
  /** Refusals of each code. */
  readonly codes: Map<string, number>;
  readonly claims: Set<string>;
}

interface Held {
  readonly note: Note;
  readonly cancel: CancelWakeUp;
}

export class RefusalNotes {
  readonly #deps: RefusalNotesDeps;
  /** By id of the connection: at most one each. */
  readonly #held = new Map<string, Held>();
  readonly #writing = new Map<string, Promise<void>>();

  constructor(deps: RefusalNotesDeps) {
    this.#deps = deps;
  }

  /** A correlation id that no note has: for what is counted alone. */
  correlation(): string {
    return ulid(this.#deps.clock.now(), this.#deps.random);
  }

  /**
   * Notes that an exchange was refused, now or with the next note; the id that the note has, or
   * will have. Nobody waits for it: how long it takes would tell that there is a connection.
   */
  add(connection: Instance, { code, claims }: RefusedExchange): string {
    const { instance: id, project } = connection;
    const held = this.#held.get(id);
    if (held) {
      const { note } = held;
      note.codes.set(code, (note.codes.get(code) ?? 0) + 1);
      for (const claim of claims) note.claims.add(claim);
      return note.correlation;
    }
    const note: Note = {
      ...{ project, connection: id, correlation: this.correlation() },
      ...{ codes: new Map([[code, 1]]), claims: new Set(claims) },
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

  /** Writes what is held back. */
  async close(): Promise<void> {
    const held = [...this.#held.values()];
    this.#held.clear();
    for (const { cancel } of held) cancel();
    await this.settled();
    await Promise.all(held.map(({ note }) => this.#write(note, { evenIfEarly: true })));
  }

  /** How long a note has to wait, ms. By the row as it is now: the caller's may be older. */
  #waitMs({ project, instance }: Instance): number {
    if (this.#writing.has(instance)) return APART_MS;
    const row = this.#deps.host.view(project).instance('ciConnection', instance);
    const lastRefusalMs = (row?.context as CiConnectionContext | undefined)?.lastRefusalMs ?? null;
    if (lastRefusalMs === null) return 0;
    // Never longer than a minute, wherever the clock may have jumped to.
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

function refusalsIn({ codes }: Note): number {
  return [...codes.values()].reduce((sum, count) => sum + count, 0);
}

/** 0: it is noted; else how much too early it is, ms, since another node has noted one. */
function noteInDraft(draft: Draft, note: Note, evenIfEarly: boolean): number {
  const { connection, correlation } = note;
  const row = draft.instance('ciConnection', connection);
  // Deleted meanwhile: there is nothing left that could keep the note.
  if (!row || row.final) return 0;
  const { lastRefusalMs } = row.context as unknown as CiConnectionContext;
  const sinceMs = draft.at - (lastRefusalMs ?? Number.NEGATIVE_INFINITY);
  if (sinceMs < APART_MS && !evenIfEarly) return APART_MS - sinceMs;
  const claims = [...note.claims].sort();
  const codes = Object.fromEntries(note.codes);
  const about = { correlation, codes, claims, refusals: refusalsIn(note) };
  draft.send('ciConnection', connection, { type: 'exchangeRefused', at: draft.at, ...about });
  return 0;
}
