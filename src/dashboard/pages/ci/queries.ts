/** Reads of the keyless CI pages, and their types. */
import { read } from '../../data/call.ts';
import { type Loader, useLoaded } from '../../data/loaded.ts';
import { idOf } from '../../data/names.ts';
import type { ResponseOf } from '../../data/rpc-types.ts';
import { pathOf } from '../../router/match.ts';

export type Connection = ResponseOf<'AutomationService', 'getCiConnection'>;
export type Verification = ResponseOf<'AutomationService', 'getCiVerification'>;
export type Claim = Verification['claims'][number];
export type Refusal = Connection['recentRefusals'][number];
export type ServiceAccount = ResponseOf<'AutomationService', 'getServiceAccount'>;
export type Template = ResponseOf<
  'AutomationService',
  'listPermissionTemplates'
>['templates'][number];

/** Polling interval while waiting for a run, which may happen at any moment, s. */
export const WATCH_SECONDS = 3;

export function useVerification(name: string, pollSeconds?: number): Loader<Verification> {
  return useLoaded(
    name,
    (options) => read('AutomationService', 'getCiVerification', { name }, options),
    pollSeconds,
  );
}

export function useConnection(name: string, pollSeconds?: number): Loader<Connection> {
  return useLoaded(
    name,
    (options) => read('AutomationService', 'getCiConnection', { name }, options),
    pollSeconds,
  );
}

export function useServiceAccount(name: string): Loader<ServiceAccount> {
  return useLoaded(name, (options) =>
    read('AutomationService', 'getServiceAccount', { name }, options),
  );
}

/** True until it has been proved and reviewed; expired and decided ones are history. */
export function isOpen({ state }: Pick<Verification, 'state'>): boolean {
  return state === 'AWAITING_PROOF' || state === 'OBSERVED';
}

/** Path of the first step of the wizard; `after` is the verification that it repeats. */
export function startPath(projectName: string, after?: string): string {
  const path = pathOf('ciConnections', { project: idOf(projectName) });
  return `${path}?step=account${after === undefined ? '' : `&after=${idOf(after)}`}`;
}

// Names of the same claim on each platform, as in its claim map.
const REPOSITORY = ['repository', 'project_path', 'pipeline_slug', 'oidc.circleci.com/vcs-origin'];
const WORKFLOW = ['workflow_ref', 'ci_config_ref_uri', 'step_key'];
const EVENT = ['event_name', 'pipeline_source', 'build_source'];

/** The workflow described by some claims; parts that its platform does not name are undefined. */
export function workflowOf(claims: readonly Claim[]) {
  const first = (names: readonly string[]): string | undefined =>
    names.flatMap((name) => claims.find(({ claim }) => claim === name)?.value ?? []).at(0);
  const repository = first(REPOSITORY);
  const workflow = first(WORKFLOW);
  return {
    repository,
    // The reference repeats the repository and the folder common to all workflows.
    workflow: workflow
      ?.replace(`${repository}/`, '')
      .replace('.github/workflows/', '')
      .replace('@refs/heads/', ' @ '),
    event: first(EVENT),
  };
}

/** Bound claims whose value differs from an earlier observation. */
export function changedClaims(
  now: readonly Claim[],
  before: readonly Claim[] | undefined,
): ReadonlyMap<string, Claim> {
  const earlier = new Map((before ?? []).map((claim) => [claim.claim, claim]));
  const changed = now.flatMap(({ claim, value, bound }): [string, Claim][] => {
    const was = earlier.get(claim);
    const isSame = was !== undefined && was.value === value;
    if (!bound || earlier.size === 0 || isSame) return [];
    // A claim that was not observed then is shown as absent.
    return [[claim, was ?? { claim, bound, why: '' }]];
  });
  return new Map(changed);
}
