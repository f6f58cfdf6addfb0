/**
 * Saving rules and destinations. Every limit and every version is checked inside the decision, at
 * the project's head, so that two clients cannot race past either. Secrets are sealed before the
 * commit that names them: a crash between leaves a sealed value nobody refers to, never a
 * destination without its secret.
 */
import { createHash } from 'node:crypto';
import type { AlertRuleContext, AlertRuleSpec } from '../../machines/alert-rule.ts';
import type { DestinationContext } from '../../machines/destination.ts';
import type { Clock } from '../../streams/clock.ts';
import { type Random, ulid } from '../../streams/random.ts';
import { Refusal } from '../../streams/refusal.ts';
import type { Committed, Draft, Host, Instance } from '../host-port.ts';
import { checkLimit } from './limits.ts';
import type {
  Alerting,
  CreatedWebhook,
  CreateWebhook,
  DeleteDestination,
  DeleteRule,
  SaveRule,
} from './port.ts';

/** Values that must be read back and are never in a commit. */
export interface SealedValues {
  put(id: string, value: string): void;
  get(id: string): string | undefined;
  delete(id: string): void;
}

export interface AlertingDeps {
  readonly host: Host;
  readonly clock: Clock;
  readonly random: Random;
  readonly sealed: SealedValues;
  /** Why a webhook must not go to this URL, as a sentence; undefined when it may. */
  readonly refuseUrl: (url: string) => string | undefined;
  /** A fresh `whsec_...` secret. */
  readonly makeSecret: (random: Random) => string;
}

/** Where a destination's address lies in the sealed store. */
export function urlIdOf(destination: string): string {
  return `${destination}/url`;
}

export function createAlerting(deps: AlertingDeps): Alerting {
  const { host } = deps;
  return {
    saveRule: ({ project, by, request, ...save }) =>
      host.submit({
        project,
        by,
        request,
        decide: (draft) => ({ version: String(saveInDraft(draft, save, by.name)) }),
      }),
    deleteRule: ({ project, by, request, ...deletion }) =>
      host.submit({
        project,
        by,
        request,
        decide(draft) {
          deleteInDraft(draft, deletion, by.name);
          return {};
        },
      }),
    createWebhook: (creation) => createWebhook(deps, creation),
    deleteDestination: (deletion) => deleteDestination(deps, deletion),
  };
}

/** What was sealed for it goes once its deletion is committed; a resend repeats that too. */
async function deleteDestination(
  deps: AlertingDeps,
  { project, by, request, id }: DeleteDestination,
): Promise<Committed<Record<string, never>>> {
  const { answer, ...committed } = await deps.host.submit({
    project,
    by,
    request,
    decide(draft) {
      const row = draft.instance('destination', id);
      if (!row || row.final) throw notFound('destination', id);
      const { secrets } = row.context as unknown as DestinationContext;
      draft.send('destination', id, { type: 'deleted', at: draft.at, by: by.name });
      return { sealed: [urlIdOf(id), ...secrets.map((secret) => secret.id)] };
    },
  });
  forget(deps, ...answer.sealed);
  return { ...committed, answer: {} };
}

/** The new desired version. */
function saveInDraft(
  draft: Draft,
  { id, expectedVersion, spec }: Pick<SaveRule, 'id' | 'expectedVersion' | 'spec'>,
  by: string,
): number {
  checkReferences(draft, spec);
  const row = draft.instance('alertRule', id);
  if (!row) {
    checkVersion(expectedVersion, 0);
    checkLimit(draft, 'rules');
    draft.start('alertRule', id, { at: draft.at, rule: id, project: draft.project, spec, by });
    return 1;
  }
  if (row.final) throw new Refusal('INVALID_STATE', 'The rule was deleted; save it under a new id');
  const context = contextOf(row);
  checkVersion(expectedVersion, context.version);
  const evaluationChanged = !sameEvaluation(context.spec, spec);
  const event = { type: 'edited', at: draft.at, spec, by, evaluationChanged };
  return contextOf(draft.send('alertRule', id, event).instance).version;
}

function deleteInDraft(
  draft: Draft,
  { id, expectedVersion }: Pick<DeleteRule, 'id' | 'expectedVersion'>,
  by: string,
): void {
  const row = draft.instance('alertRule', id);
  if (!row || row.final) throw notFound('alert rule', id);
  checkVersion(expectedVersion, contextOf(row).version);
  draft.send('alertRule', id, { type: 'deleted', at: draft.at, by });
}

function checkVersion(expected: string, current: number): void {
  if (expected === String(current)) return;
  throw new Refusal(
    'STALE_VERSION',
    current === 0
      ? 'There is no such rule yet: create it with expectedVersion "0"'
      : `The rule is at version ${current}: read it, then save with that as expectedVersion`,
    { currentVersion: String(current) },
  );
}

/** VMs and destinations that the rule names must be there: a misspelt one would never alert. */
function checkReferences(draft: Draft, spec: AlertRuleSpec): void {
  for (const name of spec.vmNames) {
    const id = idIn(name, `projects/${draft.project}/vms/`);
    if (id === undefined || !draft.record('vm', id)) {
      throw invalid('spec.vmNames', `There is no VM ${name} in the project`);
    }
  }
  for (const name of spec.destinationNames) {
    const id = idIn(name, `projects/${draft.project}/destinations/`);
    const destination = id === undefined ? undefined : draft.instance('destination', id);
    if (!destination || destination.final) {
      throw invalid('spec.destinationNames', `There is no destination ${name} in the project`);
    }
  }
}

function idIn(name: string, prefix: string): string | undefined {
  return name.startsWith(prefix) ? name.slice(prefix.length) : undefined;
}

/** Name, destinations, severity and repeat interval do not change what is evaluated. */
function sameEvaluation(before: AlertRuleSpec, after: AlertRuleSpec): boolean {
  const evaluated = (spec: AlertRuleSpec) =>
    JSON.stringify([
      spec.metricId,
      spec.operator,
      spec.threshold,
      spec.sustainedSeconds,
      spec.allVms,
      [...spec.vmNames].sort(),
      spec.enabled,
      spec.recoveryThreshold ?? null,
      spec.recoverySeconds ?? 0,
    ]);
  return evaluated(before) === evaluated(after);
}

async function createWebhook(deps: AlertingDeps, creation: CreateWebhook): Promise<CreatedWebhook> {
  const { project, by, request, displayName, url } = creation;
  const refusal = deps.refuseUrl(url);
  if (refusal) throw invalid('destination.webhook.url', refusal);
  const id = `dst_${ulid(deps.clock.now(), deps.random)}`;
  const secretId = `whs_${ulid(deps.clock.now(), deps.random)}`;
  const webhookSecret = deps.makeSecret(deps.random);
  deps.sealed.put(secretId, webhookSecret);
  deps.sealed.put(urlIdOf(id), url);
  try {
    const committed = await deps.host.submit({
      project,
      by,
      request,
      decide(draft) {
        checkLimit(draft, 'destinations');
        const urlDigest = createHash('sha256').update(url).digest('hex');
        const { host } = new URL(url);
        const named = { displayName, urlDigest, host, lastFour: url.slice(-4), secretId };
        draft.start('destination', id, { at: draft.at, project, kind: 'webhook', ...named });
        return { id };
      },
    });
    if (committed.answer.id !== id) forget(deps, secretId, urlIdOf(id));
    const secret = committed.answer.id === id ? webhookSecret : undefined;
    return created(deps.host, project, committed, secret);
  } catch (error) {
    // Only a refusal proves that nothing refers to them; an unknown outcome keeps them.
    if (error instanceof Refusal) forget(deps, secretId, urlIdOf(id));
    throw error;
  }
}

function forget({ sealed }: AlertingDeps, ...ids: string[]): void {
  for (const id of ids) sealed.delete(id);
}

function created(
  host: Host,
  project: string,
  { answer, sequence }: { answer: { id: string }; sequence: number },
  webhookSecret: string | undefined,
): CreatedWebhook {
  const destination = host.view(project).instance('destination', answer.id);
  if (!destination) throw new Error(`The destination ${answer.id} was committed and is not there`);
  return { destination, sequence, ...(webhookSecret === undefined ? {} : { webhookSecret }) };
}

function contextOf(row: Instance): AlertRuleContext {
  return row.context as unknown as AlertRuleContext;
}

function invalid(field: string, message: string): Refusal {
  return new Refusal('INVALID_FIELD', message, { field });
}

function notFound(what: string, id: string): Refusal {
  return new Refusal('NOT_FOUND', `There is no ${what} ${id} in the project`);
}
