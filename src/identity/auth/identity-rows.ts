/**
 * Rows of identities, read once and kept until a commit changes them: a request looks at several
 * (key, account, member, person), and reading each from SQLite would cost more than the rest of
 * authenticating it. Commits are applied and told in one turn of the event loop, so nobody ever
 * sees a row that is older than the last applied commit.
 */
import type { Host, Instance } from '../../../actors/platform/host/host-port.ts';
import { BoundedCache } from '../../../streams/platform/bounded-cache.ts';
import type { Commit } from '../../../streams/platform/commit/commit.ts';

/** Machines whose rows decide what somebody may do. */
type IdentityMachine =
  | 'credential'
  | 'serviceAccount'
  | 'membership'
  | 'person'
  | 'ciConnection'
  | 'enrolment'
  | 'session';

const IDENTITY_MACHINES: ReadonlySet<string> = new Set<IdentityMachine>([
  'credential',
  'serviceAccount',
  'membership',
  'person',
  'ciConnection',
  'enrolment',
  'session',
]);

/** Bounded because anybody who holds many keys could fill it; a row takes about 1 KB. */
const ROWS_MAX = 20_000;

/** Identifies a row among those of all machines and projects. */
export type RowKey = string;

export class IdentityRows {
  readonly #host: Pick<Host, 'view' | 'findInstance'>;
  readonly #rows = new BoundedCache<RowKey, Instance>(ROWS_MAX);
  #noted: Set<RowKey> | undefined;

  constructor(host: Pick<Host, 'view' | 'findInstance'>) {
    this.#host = host;
  }

  /** The row as it is now. Rows that are not there are looked for again each time. */
  find(machine: IdentityMachine, project: string, id: string): Instance | undefined {
    return this.#find(machine, project, id);
  }

  #find(machine: string, project: string, id: string): Instance | undefined {
    const key = rowKey(machine, project, id);
    this.#noted?.add(key);
    const kept = this.#rows.get(key);
    if (kept) return kept;
    const found = this.#host.view(project).instance(machine, id);
    if (found) this.#rows.set(key, found);
    return found;
  }

  /** The rows of one project, as a view of them. */
  of(project: string): { instance(machine: string, id: string): Instance | undefined } {
    return { instance: (machine, id) => this.#find(machine, project, id) };
  }

  /** A credential by its id alone, whichever project it is of. */
  findCredential(id: string): Instance | undefined {
    const found = this.#host.findInstance('credential', id);
    if (found) this.#rows.set(rowKey('credential', found.project, id), found);
    return found;
  }

  /** What `read` answers, with the keys of all rows it asked for. */
  noting<T>(read: () => T): { readonly answer: T; readonly rows: ReadonlySet<RowKey> } {
    const rows = new Set<RowKey>();
    this.#noted = rows;
    try {
      return { answer: read(), rows };
    } finally {
      this.#noted = undefined;
    }
  }

  /** Forgets what a commit has changed; answers the keys of those rows. */
  applied({ project, decisions }: Commit): ReadonlySet<RowKey> {
    const changed = new Set<RowKey>();
    for (const { steps } of decisions) {
      for (const { machine, instance } of steps) {
        if (!IDENTITY_MACHINES.has(machine)) continue;
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
