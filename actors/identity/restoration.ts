/**
 * Starts a new generation, by the operator, after a backup was restored and its service started.
 * All short-lived secrets end, because they may have ended or been used after the backup: sessions,
 * links, invitations, open pairings, enrolment tokens, access tokens of CI. Keys stay, and are
 * listed. Each project records its progress in the commit of each batch, so that a further call
 * finishes an interrupted restoration.
 */

import type { MachineName } from '../../machines/audit/registry.ts';
import type { CredentialContext } from '../../machines/identity/credential.ts';
import { type Actor, SYSTEM_PROJECT } from '../../streams/platform/commit/commit.ts';
import { itemsOf } from '../../streams/platform/commit/page.ts';
import { Refusal } from '../../streams/platform/refusal.ts';
import type { Draft, EventOf, Host, Instance, RequestKey } from '../platform/host/host-port.ts';
import { StepBatch } from '../platform/step-batch.ts';
import { ownerName, parseOwner } from './grants.ts';

declare module '../platform/host/rows.ts' {
  interface RecordBodies {
    restoration: RestorationBody;
  }
}

/** Kind of the records: the generation in `_system`, the progress in each project. */
const KIND = 'restoration';
const ID = 'current';
const REASON = 'RESTORED';
/** Instances of one page. */
const PAGE = 20;
const LISTED_PAGE = 1_000;

/** Machines whose instances end, in this order, and the event that ends one. */
const ENDINGS = {
  session: () => ({ type: 'ended', reason: REASON }),
  signInLink: () => ({ type: 'revoked', reason: REASON }),
  invitation: (by) => ({ type: 'revoked', by }),
  ciVerification: (by) => ({ type: 'rejected', reason: REASON, by }),
  enrolment: (by) => ({ type: 'tokenWithdrawn', reason: REASON, by }),
  ciConnection: (by) => ({ type: 'tokensEnded', reason: REASON, by }),
} as const satisfies { [M in MachineName]?: (by: string) => Omit<EventOf<M>, 'at'> };

type Ending = keyof typeof ENDINGS;

const ORDER = Object.keys(ENDINGS) as readonly Ending[];

/** Number of ended instances; for connections, the number whose tokens ended. */
export type EndedCounts = Readonly<Record<Ending, number>>;

/** The record in `_system`. Times in Unix ms. */
interface Generation {
  readonly generation: number;
  readonly atMs: number;
  readonly by: string;
  /** null until everything has ended. */
  readonly doneMs: number | null;
}

/** In `_system`, the generation; in each project, including `_system`, its progress. */
type RestorationBody = Partial<Generation> & { readonly progress?: Progress | null };

/** The record in each project. */
interface Progress {
  readonly generation: number;
  /** Index in `ORDER`; its length = done. */
  readonly place: number;
  /** Position in the list of that machine; null = the start. */
  readonly after: string | null;
  readonly ended: EndedCounts;
}

/** A credential that works now, but may have ended after the backup. */
export interface RevivedCredential {
  /** Personal key, key of a service account, collector, agent, or CI trust. */
  readonly kind: CredentialContext['kind'] | 'ci';
  /** Resource name. */
  readonly name: string;
  readonly displayName: string;
  /** Resource name and display name of its owner. */
  readonly owner: string;
  readonly ownerDisplayName: string;
  /** '' for a CI trust, which has no secret. */
  readonly lastFour: string;
  readonly createdMs: number;
  /** null: never. */
  readonly expiresMs: number | null;
}

interface Done {
  readonly generation: number;
  /** Time of the start, and time when everything had ended, Unix ms. */
  readonly atMs: number;
  readonly doneMs: number;
}

/** Credentials that a call ended, and those that the operator should review. */
export interface Restoration extends Done {
  /** In all projects, including those ended before a crash. */
  readonly ended: EndedCounts;
  readonly credentials: readonly RevivedCredential[];
}

type Deps = Pick<Host, 'submit' | 'view' | 'projects'>;

/**
 * Starts a generation, or finishes an unfinished one. A resent request that was finished changes
 * nothing. Rejects with the errors of `Host.submit`.
 */
export async function restored(
  host: Deps,
  { by, request }: { readonly by: Actor; readonly request: RequestKey },
): Promise<Restoration> {
  await host.submit({
    project: SYSTEM_PROJECT,
    by,
    request,
    decide: (draft) => begin(draft, by),
  });
  // Not the generation of the response, because this may be a request resent much later.
  const generation = generationOf(host.view(SYSTEM_PROJECT))?.generation ?? 0;
  const ended = emptyCounts();
  for (const project of [...host.projects()].sort()) {
    const counts = await endIn(host, { project, by, generation });
    for (const what of ORDER) ended[what] += counts[what];
  }
  const { answer: done } = await host.submit({
    project: SYSTEM_PROJECT,
    by,
    decide: (draft) => finish(draft, generation),
  });
  return { ...done, ended, credentials: workingCredentials(host, done.doneMs) };
}

/** Time when the last generation started, Unix ms; undefined if no backup was ever restored. */
export function lastRestoredMs(host: Pick<Host, 'view'>): number | undefined {
  return generationOf(host.view(SYSTEM_PROJECT))?.atMs;
}

function begin(draft: Draft, by: Actor): { generation: number } {
  const before = generationOf(draft);
  if (before?.doneMs === null) return { generation: before.generation };
  const generation = (before?.generation ?? 1) + 1;
  const body: Generation = { generation, atMs: draft.at, by: by.name, doneMs: null };
  draft.putRecord({ kind: KIND, id: ID, body: { ...body } });
  return { generation };
}

function finish(draft: Draft, generation: number): Done {
  const record = generationOf(draft);
  if (record?.generation !== generation) {
    throw new Refusal('INVALID_STATE', 'Another restoration began meanwhile. Run it again');
  }
  const doneMs = record.doneMs ?? draft.at;
  if (record.doneMs === null) putBody(draft, { doneMs });
  return { generation, atMs: record.atMs, doneMs };
}

/** Commits batches until the project is done. */
async function endIn(
  host: Deps,
  { project, by, generation }: { project: string; by: Actor; generation: number },
): Promise<EndedCounts> {
  for (;;) {
    const before = progressOf(host.view(project), generation);
    if (before.place >= ORDER.length) return before.ended;
    await host.submit({
      project,
      by,
      decide(draft) {
        const progress = advance(draft, progressOf(draft, generation), by.name);
        putBody(draft, { progress: { ...progress } });
      },
    });
  }
}

/** Runs one batch. */
function advance(draft: Draft, progress: Progress, by: string): Progress {
  const batch = new StepBatch();
  const ended = { ...progress.ended };
  let { place, after } = progress;
  for (;;) {
    const machine = ORDER[place];
    if (machine === undefined || batch.isFull) return { ...progress, place, after, ended };
    const page = draft.instances(machine, {
      final: false,
      limit: PAGE,
      ...(after !== null && { after }),
    });
    for (const row of page.items) {
      const event = { ...ENDINGS[machine](by), at: draft.at };
      if (!draft.send<Ending>(machine, row.instance, event).changed) continue;
      batch.take(row);
      ended[machine]++;
    }
    after = page.next ?? null;
    if (after === null) place++;
  }
}

/** `_system` is a project too. Its record has both the generation and its own progress. */
function putBody(draft: Draft, change: RestorationBody): void {
  const before = draft.record(KIND, ID)?.body ?? {};
  draft.putRecord({ kind: KIND, id: ID, body: { ...before, ...change } });
}

type View = Pick<Draft, 'record'>;

function generationOf(view: View): Generation | undefined {
  const { generation, atMs, by, doneMs } = view.record(KIND, ID)?.body ?? {};
  if (generation === undefined || atMs === undefined || by === undefined) return undefined;
  return { generation, atMs, by, doneMs: doneMs ?? null };
}

function progressOf(view: View, generation: number): Progress {
  const progress = view.record(KIND, ID)?.body.progress;
  if (progress && progress.generation >= generation) return progress;
  return { generation, place: 0, after: null, ended: emptyCounts() };
}

function emptyCounts(): Record<Ending, number> {
  return {
    session: 0,
    signInLink: 0,
    invitation: 0,
    ciVerification: 0,
    enrolment: 0,
    ciConnection: 0,
  };
}

/** Sorted by project name, and oldest first in each. */
function workingCredentials(host: Deps, nowMs: number): RevivedCredential[] {
  return [...host.projects()].sort().flatMap((project) => [
    ...live(host, project, 'credential')
      .map((row) => revivedKey(host, row))
      .filter(({ expiresMs }) => expiresMs !== null && nowMs < expiresMs),
    ...live(host, project, 'ciConnection')
      .filter(({ value }) => value === 'enabled')
      .map((row) => revivedTrust(host, row)),
  ]);
}

function live<M extends MachineName>(host: Deps, project: string, machine: M): Instance<M>[] {
  const view = host.view(project);
  return [...itemsOf(LISTED_PAGE, (page) => view.instances(machine, { ...page, final: false }))];
}

function revivedKey(host: Deps, row: Instance<'credential'>): RevivedCredential {
  const context = row.context;
  const { kind, displayName, owner, lastFour, createdMs, expiresMs } = context;
  return {
    kind,
    name: `${owner}/keys/${row.instance}`,
    displayName,
    owner,
    ownerDisplayName: nameOfOwner(host, owner),
    lastFour,
    createdMs,
    expiresMs,
  };
}

function revivedTrust(host: Deps, row: Instance<'ciConnection'>): RevivedCredential {
  const context = row.context;
  const { project, serviceAccount: id, displayName, createdMs } = context;
  const owner = ownerName({ project, machine: 'serviceAccount', id });
  const name = `projects/${project}/ciConnections/${row.instance}`;
  return {
    kind: 'ci',
    name,
    displayName,
    owner,
    ownerDisplayName: nameOfOwner(host, owner),
    lastFour: '',
    createdMs,
    expiresMs: null,
  };
}

/** '' for collectors and agents, which have no owner. */
function nameOfOwner(host: Deps, owner: string): string {
  const parsed = parseOwner(owner);
  const row = parsed && host.view(parsed.project).instance(parsed.machine, parsed.id);
  return String(row?.context.displayName ?? '');
}
