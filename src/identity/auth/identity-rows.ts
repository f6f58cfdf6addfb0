/**
 * The cache of identity rows. Each row is kept until a commit changes it. A request reads several
 * rows (key, account, member, person), and reading them from SQLite would cost more than the rest of
 * its authentication. Commits are applied and reported in one turn of the event loop, so that no
 * reader sees a row older than the last applied commit.
 */
import type { GrantedRows } from '../../../actors/identity/grants.ts';
import type { Host, Instance } from '../../../actors/platform/host/host-port.ts';
import { BoundedCache } from '../../../streams/platform/bounded-cache.ts';
import type { Commit } from '../../../streams/platform/commit/commit.ts';
import type { StoredInstance } from '../../../streams/platform/commit/projection.ts';

/** Machines on whose rows access depends. */
type AccessMachine =
  | 'credential'
  | 'serviceAccount'
  | 'membership'
  | 'person'
  | 'ciConnection'
  | 'enrolment'
  | 'session';

const ACCESS_MACHINES: ReadonlySet<string> = new Set<AccessMachine>([
  'credential',
  'serviceAccount',
  'membership',
  'person',
  'ciConnection',
  'enrolment',
  'session',
]);

/** Maximum rows in the cache, about 1 KB each. Bounded, because anyone may hold many keys. */
const ROWS_MAX = 20_000;

/** Identifies a row among those of all machines and projects. */
export type RowKey = string;

export class IdentityRows {
  readonly #host: Pick<Host, 'view' | 'findInstance'>;
  readonly #rows = new BoundedCache<RowKey, StoredInstance>(ROWS_MAX);
  #recorded: Set<RowKey> | undefined;

  constructor(host: Pick<Host, 'view' | 'findInstance'>) {
    this.#host = host;
  }

  /** The current row. Missing rows are not cached. */
  find<M extends AccessMachine>(machine: M, project: string, id: string): Instance<M> | undefined {
    const key = rowKey(machine, project, id);
    this.#recorded?.add(key);
    const kept = this.#rows.get(key);
    // The key names the machine.
    if (kept) return kept as Instance<M>;
    const found = this.#host.view(project).instance(machine, id);
    if (found) this.#rows.set(key, found);
    return found;
  }

  /** View of one project's rows. */
  of(project: string): GrantedRows {
    return { instance: (machine, id) => this.find(machine, project, id) };
  }

  /** A credential by its id, in any project. */
  findCredential(id: string): Instance<'credential'> | undefined {
    const found = this.#host.findInstance('credential', id);
    if (found) this.#rows.set(rowKey('credential', found.project, id), found);
    return found;
  }

  /** Result of `read`, with the keys of all rows that it read. */
  recording<T>(read: () => T): { readonly answer: T; readonly rows: ReadonlySet<RowKey> } {
    const rows = new Set<RowKey>();
    this.#recorded = rows;
    try {
      return { answer: read(), rows };
    } finally {
      this.#recorded = undefined;
    }
  }

  /** Drops the rows that a commit has changed, and returns their keys. */
  applied({ project, decisions }: Commit): ReadonlySet<RowKey> {
    const changed = new Set<RowKey>();
    for (const { steps } of decisions) {
      for (const { machine, instance } of steps) {
        if (!ACCESS_MACHINES.has(machine)) continue;
        const key = rowKey(machine, project, instance);
        this.#rows.delete(key);
        changed.add(key);
      }
    }
    return changed;
  }
}

function rowKey(machine: string, project: string, id: string): RowKey {
  return `${machine} ${project} ${id}`;
}
