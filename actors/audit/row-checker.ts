/**
 * Checker of the projection's rows against the commits that they name. Each transition that audit
 * shows stands under a commit of its project and goes on where the one before it ended. Each
 * instance's row is what its last transition came to. No body is needed, so that rows older than
 * the log are checked too. One turn checks a page, on one state of the file.
 */
import { isDeepStrictEqual } from 'node:util';
import type {
  CommitReader,
  InstanceKey,
  InstanceWithLast,
  StoredTransition,
} from '../../sqlite/platform/control/commit-reader.ts';
import { nextTurn } from '../platform/time-slices.ts';

/** Takes what was looked at; `fault`: what does not hold, as a sentence. */
export interface RowFindings {
  transitionFault(project: string, sequence: number, fault: string): void;
  /** @param sequence of its last transition's commit; undefined: it has none */
  instance(project: string, sequence: number | undefined, fault: string | undefined): void;
}

export interface RowCheckOptions {
  readonly reader: CommitReader;
  readonly findings: RowFindings;
  /** May the row of an instance that came to this be gone? `to` is JSON. */
  readonly isForgotten: (row: { machine: string; at: number; to: string }) => boolean;
  readonly signal?: AbortSignal | undefined;
}

const PAGE = 500;

/** Looks at every row. Rejects with the reason of `signal`, or a fault of reading. */
export async function checkRows(options: RowCheckOptions): Promise<void> {
  const { reader, findings } = options;
  await everyPage(options, (after) => reader.everyTransition({ after, limit: PAGE }), {
    placeOf: ({ id }) => id,
    take(transition) {
      const fault = faultOfTransition(options, transition);
      if (fault === undefined) return;
      findings.transitionFault(transition.project, transition.sequence, fault);
    },
  });
  await everyPage(options, (after) => reader.everyInstance({ after, limit: PAGE }), {
    placeOf: ({ row }) => row,
    take(row) {
      findings.instance(row.project, row.last?.sequence, faultOfInstance(options, row));
    },
  });
}

async function everyPage<T>(
  { signal }: RowCheckOptions,
  read: (after: number) => readonly T[],
  { placeOf, take }: { readonly placeOf: (one: T) => number; readonly take: (one: T) => void },
): Promise<void> {
  for (let after = Number.MIN_SAFE_INTEGER; ; ) {
    signal?.throwIfAborted();
    const page = read(after);
    for (const one of page) take(one);
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) return;
    after = placeOf(last);
    await nextTurn();
  }
}

function faultOfTransition(
  { reader, isForgotten }: RowCheckOptions,
  transition: StoredTransition,
): string | undefined {
  const { project, commit, at, from, before, hasRow } = transition;
  const name = `Audit shows a transition of ${nameOf(transition)}`;
  if (commit?.project !== project) return `${name} that no commit of the project made`;
  if (commit.at !== at) return `${name} at another time than its commit's`;
  // The first that is left of an instance goes on from one that was let go.
  const isFirstLeft = before === null && from !== null && reader.start(project) !== undefined;
  if (!isFirstLeft && !isSameJson(from, before)) {
    return `${name} that does not go on where the one before ended`;
  }
  if (hasRow) return undefined;
  const last = reader.lastTransition(transition);
  if (last && isForgotten({ machine: transition.machine, ...last })) return undefined;
  return `${name}, and there is no row of it`;
}

function faultOfInstance({ reader }: RowCheckOptions, row: InstanceWithLast): string | undefined {
  const { last } = row;
  const name = `The row of ${nameOf(row)}`;
  // Its transitions were let go with the commits of their time.
  if (last === null && row.updated <= (reader.start(row.project)?.at ?? 0)) return undefined;
  if (last === null) return `${name} comes from no commit: no transition of it is there`;
  if (isSameJson(row.value, last.to) && row.updated === last.at) return undefined;
  return `${name} is not what its last transition came to`;
}

function nameOf({ machine, instance }: InstanceKey): string {
  return `${machine} ${instance}`;
}

/** As values: an object's keys may have been written in another order. */
function isSameJson(one: string | null, other: string | null): boolean {
  if (one === null || other === null || one === other) return one === other;
  return isDeepStrictEqual(parsed(one), parsed(other));
}

/** What is no JSON equals nothing. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return Symbol('no JSON');
  }
}
