/**
 * Consequences of the end of a service account, in as many commits as needed: the tokens of its CI
 * connections end, and its keys are revoked. A record of kind `accountAftermath` under the
 * account's id holds the remaining work; it is removed when all is done. Each batch continues after
 * the last one, so that any node can finish it at any time.
 */
import type { Actor } from '../../streams/platform/commit/commit.ts';
import { nextTurn } from '../../streams/platform/operators.ts';
import type { Draft, Host } from '../platform/host/host-port.ts';
import { BATCH_STEPS_MAX, StepBatch } from '../platform/step-batch.ts';
import type { IdentityChange } from './checks.ts';
import { ownerName } from './grants.ts';

declare module '../platform/host/rows.ts' {
  interface RecordBodies {
    accountAftermath: Aftermath;
  }
}

/** Actor of the background repair. The events themselves name who caused them. */
const SERVICE: Actor = { kind: 'service', name: 'service/accounts' };

/** Kind of the record. */
export const AFTERMATH = 'accountAftermath';

/** Remaining work after a service account was disabled or deleted. */
export interface Aftermath {
  readonly account: string;
  readonly what: 'disabled' | 'deleted';
  /** The actor who caused it. */
  readonly by: string;
  /** Connections up to this position are done. */
  readonly after?: string;
}

/** Connections of one page. */
const PAGE = 20;

/** Runs the first batch in the decision that ends the account, and records the rest. */
export function startAftermath(draft: Draft, aftermath: Aftermath): void {
  const isNoted = draft.record(AFTERMATH, aftermath.account) !== undefined;
  const left = advance(draft, aftermath);
  if (left || isNoted) putAftermath(draft, aftermath.account, left);
}

/** Commits batches until nothing is left. */
export async function finishAftermath(
  host: Pick<Host, 'submit' | 'view'>,
  { project, by }: Pick<IdentityChange, 'project' | 'by'>,
  account: string,
): Promise<void> {
  while (host.view(project).record(AFTERMATH, account)) {
    await host.submit({
      project,
      by,
      decide(draft) {
        const record = draft.record(AFTERMATH, account);
        if (record) putAftermath(draft, account, advance(draft, record.body));
      },
    });
  }
}

/**
 * Finishes, in every project, the work that a crash interrupted. Throws the errors of
 * `Host.submit`.
 */
export async function finishLeftovers(
  host: Pick<Host, 'submit' | 'view' | 'projects'>,
): Promise<void> {
  for (const project of host.projects()) {
    await nextTurn();
    const view = host.view(project);
    for (;;) {
      const [left] = view.records(AFTERMATH, { limit: 1 }).items;
      if (!left) break;
      await finishAftermath(host, { project, by: SERVICE }, left.id);
    }
  }
}

function putAftermath(draft: Draft, account: string, left: Aftermath | null): void {
  draft.putRecord({ kind: AFTERMATH, id: account, body: left && { ...left } });
}

/** Runs one batch and returns the remaining work; null if there is none. */
function advance(draft: Draft, aftermath: Aftermath): Aftermath | null {
  const batch = new StepBatch();
  return aftermath.what === 'disabled'
    ? endTokens(draft, aftermath, batch)
    : endAll(draft, aftermath, batch);
}

function endTokens(draft: Draft, aftermath: Aftermath, batch: StepBatch): Aftermath | null {
  const { account, by } = aftermath;
  let { after } = aftermath;
  for (;;) {
    const page = draft.instances('ciConnection', {
      owner: account,
      final: false,
      limit: PAGE,
      ...(after === undefined ? {} : { after }),
    });
    for (const connection of page.items) {
      batch.take(connection);
      const ended = { type: 'accountDisabled', at: draft.at, by } as const;
      draft.send('ciConnection', connection.instance, ended);
    }
    if (page.next === undefined) return null;
    after = page.next;
    if (batch.isFull) return { ...aftermath, after };
  }
}

function endAll(draft: Draft, aftermath: Aftermath, batch: StepBatch): Aftermath | null {
  const { account, by } = aftermath;
  const { at, project } = draft;
  const owner = ownerName({ project, machine: 'serviceAccount', id: account });
  const mine = { final: false, limit: BATCH_STEPS_MAX } as const;
  for (const connection of draft.instances('ciConnection', { ...mine, owner: account }).items) {
    batch.take(connection);
    draft.send('ciConnection', connection.instance, { type: 'deleted', at, by });
    if (batch.isFull) return aftermath;
  }
  for (const key of draft.instances('credential', { ...mine, owner }).items) {
    batch.take(key);
    const revoked = { type: 'revoked', at, reason: 'ACCOUNT_DELETED', by } as const;
    draft.send('credential', key.instance, revoked);
    if (batch.isFull) return aftermath;
  }
  return null;
}
