/**
 * Notes of refused exchanges, at most one a minute for each connection, so that a stranger's tries
 * cannot fill the audit. Nothing is lost by it: the first of a burst is noted at once, those after
 * it are gathered into the next note, with their count. Each refusal is told the correlation id of
 * the note that counts it.
 */
import type { CiConnectionContext } from '../../../machines/ci-connection.ts';
import type { CancelWakeUp, Clock } from '../../../streams/clock.ts';
import { type Random, ulid } from '../../../streams/random.ts';
import type { Draft, Host, Instance } from '../../host-port.ts';

/** Between two notes of one connection at least, ms. */
const APART_MS = 60_000;

export interface RefusedExchange {
  /** Reason or cause, e.g. `IDENTITY_MISMATCH`. */
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

export interface Noted {
  /** Id that the note has, or will have. */
  readonly correlation: string;
  /** Resolves once the note is written or has failed; at once for one that is held back. */
  readonly settled: Promise<void>;
}

interface Note {
  readonly project: string;
  readonly connection: string;
  readonly correlation: string;
  readonly code: string;
  readonly claims: Set<string>;
  refusals: number;
}

interface Held {
  readonly note: Note;
  readonly cancel: CancelWakeUp;
}

const DONE = Promise.resolve();

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

  /** Notes that an exchange was refused, now or with the next note. */
  add(connection: Instance, refused: RefusedExchange): Noted {
    const { instance: id } = connection;
    const held = this.#held.get(id);
    if (held) {
      held.note.refusals++;
      for (const claim of refused.claims) held.note.claims.add(claim);
      return { correlation: held.note.correlation, settled: DONE };
    }
    const note: Note = {
      project: connection.project,
      connection: id,
      correlation: this.correlation(),
      code: refused.code,
      claims: new Set(refused.claims),
      refusals: 1,
    };
    const waitMs = this.#waitMs(connection);
    if (waitMs > 0) {
      this.#hold(note, waitMs);
      return { correlation: note.correlation, settled: DONE };
    }
    return { correlation: note.correlation, settled: this.#write(note) };
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
      .catch((error: unknown) => this.#deps.onLost(note.refusals, error))
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

/** 0: it is noted; else how much too early it is, ms, since another node has noted one. */
function noteInDraft(draft: Draft, note: Note, evenIfEarly: boolean): number {
  const { connection, correlation, code, refusals } = note;
  const row = draft.instance('ciConnection', connection);
  // Deleted meanwhile: there is nothing left that could keep the note.
  if (!row || row.final) return 0;
  const { lastRefusalMs } = row.context as unknown as CiConnectionContext;
  const sinceMs = draft.at - (lastRefusalMs ?? Number.NEGATIVE_INFINITY);
  if (sinceMs < APART_MS && !evenIfEarly) return APART_MS - sinceMs;
  const claims = [...note.claims].sort();
  const about = { correlation, code, claims, refusals };
  draft.send('ciConnection', connection, { type: 'exchangeRefused', at: draft.at, ...about });
  return 0;
}
