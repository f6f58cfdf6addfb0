/**
 * Refused uses of a project's own keys: revoked or expired, without the capability, from another
 * project. The secret was right, so its owners want to know who still uses it. The first refusal of
 * a key is committed at once, and later ones are counted into at most one commit a minute and key.
 * Stopping the service writes the pending counts; a killed process loses those of the last minute.
 */
import type { CancelWakeUp, Clock } from '../../streams/platform/clock.ts';
import type { Host, Instance, ProjectView } from '../platform/host/host-port.ts';
import { parseOwner } from './grants.ts';

declare module '../platform/host/rows.ts' {
  interface RecordBodies {
    refusedUses: RefusedUsesOfKey;
  }
}

/** Refused uses of one key since it was made. */
export interface RefusedUsesOfKey {
  readonly count: number;
  /** Time of the last commit of refusals, Unix ms. */
  readonly lastMs: number;
  /** Reason of the last refusal. */
  readonly lastReason: string;
}

/** Minimum time between two commits about one key, ms. */
export const APART_MS = 60_000;
/** Maximum keys with pending counts, about 300 bytes each. */
const KEYS_MAX = 10_000;

const KIND = 'refusedUses';

/** A key whose secret was presented and refused. */
export interface RefusedKey {
  readonly project: string;
  /** Id of the credential. */
  readonly key: string;
}

export interface RefusedUsesDeps {
  readonly host: Pick<Host, 'submit' | 'view'>;
  readonly clock: Clock;
  /** Called with the number of refusals that could not be recorded. */
  readonly onLost: (refusals: number, error: unknown) => void;
}

interface Pending extends RefusedKey {
  /** Refusals by reason, from the closed set of reasons. */
  readonly reasons: Map<string, number>;
  lastReason: string;
  cancel: CancelWakeUp | undefined;
}

/** The stored count of a key; undefined if no use was refused. */
export function refusedUsesOf(
  view: Pick<ProjectView, 'record'>,
  key: string,
): RefusedUsesOfKey | undefined {
  return view.record(KIND, key)?.body;
}

/** Counts of one node. */
export class RefusedUses {
  readonly #deps: RefusedUsesDeps;
  /** By id of the key. */
  readonly #pending = new Map<string, Pending>();
  readonly #writing = new Map<string, Promise<void>>();

  constructor(deps: RefusedUsesDeps) {
    this.#deps = deps;
  }

  /** Counts a refused use. Callers do not wait for its commit. */
  add({ project, key }: RefusedKey, reason: string): void {
    const known = this.#pending.get(key);
    if (known) {
      known.reasons.set(reason, (known.reasons.get(reason) ?? 0) + 1);
      known.lastReason = reason;
      return;
    }
    if (this.#pending.size >= KEYS_MAX) {
      this.#deps.onLost(1, new Error(`${KEYS_MAX} keys have pending refusals`));
      return;
    }
    const pending: Pending = {
      project,
      key,
      reasons: new Map([[reason, 1]]),
      lastReason: reason,
      cancel: undefined,
    };
    this.#pending.set(key, pending);
    this.#schedule(pending, this.#waitMs(pending));
  }

  /** Resolves when no count is being written. */
  async settled(): Promise<void> {
    await Promise.all(this.#writing.values());
  }

  /** Writes the pending counts. */
  async close(): Promise<void> {
    await this.settled();
    await Promise.all([...this.#pending.values()].map((pending) => this.#write(pending)));
  }

  #waitMs({ project, key }: RefusedKey): number {
    if (this.#writing.has(key)) return APART_MS;
    const lastMs = refusedUsesOf(this.#deps.host.view(project), key)?.lastMs;
    if (lastMs === undefined) return 0;
    // At most a minute, even after a jump of the clock.
    return Math.min(Math.max(0, lastMs + APART_MS - this.#deps.clock.now()), APART_MS);
  }

  #schedule(pending: Pending, waitMs: number): void {
    if (waitMs === 0) void this.#write(pending);
    else pending.cancel = this.#deps.clock.wakeAfter(waitMs, () => void this.#write(pending));
  }

  #write(pending: Pending): Promise<void> {
    pending.cancel?.();
    this.#pending.delete(pending.key);
    const writing = this.#submit(pending)
      .catch((error: unknown) => this.#deps.onLost(refusalsIn(pending), error))
      .finally(() => this.#writing.delete(pending.key));
    this.#writing.set(pending.key, writing);
    return writing;
  }

  async #submit(pending: Pending): Promise<void> {
    const { project, key, lastReason } = pending;
    const row = this.#deps.host.view(project).instance('credential', key);
    if (!row) return;
    const refusals = refusalsIn(pending);
    await this.#deps.host.submit({
      project,
      by: { kind: 'key', name: `${row.context.owner}/keys/${key}` },
      decide(draft) {
        const count = (refusedUsesOf(draft, key)?.count ?? 0) + refusals;
        draft.putRecord({ kind: KIND, id: key, body: { count, lastMs: draft.at, lastReason } });
        const reasons = Object.fromEntries(pending.reasons);
        const event = { type: 'keyRefused', at: draft.at, key, refusals, reasons } as const;
        const owner = ownerOf(row);
        if (!owner || !draft.instance(owner.machine, owner.id)) return;
        if (owner.machine === 'membership') draft.send('membership', owner.id, event);
        else draft.send('serviceAccount', owner.id, event);
      },
    });
  }
}

/** The identity in whose path the refusals appear; undefined for keys of collectors and agents. */
function ownerOf({ project, context }: Instance<'credential'>) {
  const owner = parseOwner(context.owner);
  return owner?.project === project ? owner : undefined;
}

function refusalsIn({ reasons }: Pick<Pending, 'reasons'>): number {
  return [...reasons.values()].reduce((sum, count) => sum + count, 0);
}
