/**
 * The operator's limits of a project, and the retirement of VMs that no collector can report
 * anymore.
 */

import type { EvaluatorView } from '../../actors/alerting/evaluator/evaluator-port.ts';
import { projectRecord } from '../../actors/identity/members.ts';
import type { Host } from '../../actors/platform/host/host-port.ts';
import {
  LIMIT_NAMES,
  type LimitName,
  limitsOf,
  type ProjectLimits,
  setLimits,
} from '../../actors/platform/project-limits.ts';
import { retireVms } from '../../actors/vms/vm-retirement.ts';
import { invalidField, Refusal } from '../../streams/platform/refusal.ts';
import type { ProjectLimitUse } from '../platform/gate/limit-use.ts';
import type { AdminRoutes } from './admin-server.ts';
import { type Body, changeOf, optionalText, text } from './operator.ts';

export const PROJECT_LIMIT_PATHS = {
  show: '/v1/project-limits/show',
  set: '/v1/project-limits/set',
  retireVm: '/v1/vms/retire',
} as const;

/** The limits of a project, and their current use. */
export interface LimitReport {
  readonly project: string;
  readonly limits: ProjectLimits;
  /** Use of the limits, if known; absent is not zero. */
  readonly used: Partial<ProjectLimits>;
  /** Instances that are not evaluated, because the limit is reached. */
  readonly unevaluated: number;
}

export interface RetiredVmAnswer {
  readonly vm: string;
  /** false if it had already been retired. */
  readonly isNew: boolean;
}

export interface ProjectLimitRouteDeps {
  readonly host: Host;
  readonly evaluator: Pick<EvaluatorView, 'quota'>;
  readonly limitUse: Pick<ProjectLimitUse, 'of'>;
}

export function projectLimitRoutes(deps: ProjectLimitRouteDeps): AdminRoutes {
  return {
    [PROJECT_LIMIT_PATHS.show]: async (_signal, _onProgress, body) =>
      reportOf(deps, projectOf(deps.host, body)),
    [PROJECT_LIMIT_PATHS.set]: (_signal, _onProgress, body) => set(deps, body),
    [PROJECT_LIMIT_PATHS.retireVm]: (_signal, _onProgress, body) => retire(deps, body),
  };
}

function projectOf(host: Host, body: Body): string {
  const project = text(body, 'project').replace(/^projects\//, '');
  projectRecord(host.view(project), project);
  return project;
}

function reportOf(
  { host, evaluator, limitUse }: ProjectLimitRouteDeps,
  project: string,
): LimitReport {
  const used = Object.fromEntries(
    limitUse.of(project).flatMap(({ name, used }) => (used === undefined ? [] : [[name, used]])),
  );
  const { unevaluated } = evaluator.quota(project);
  const without = [...unevaluated.values()].reduce((sum, count) => sum + count, 0);
  return { project, limits: limitsOf(host.view(project)), used, unevaluated: without };
}

async function set(deps: ProjectLimitRouteDeps, body: Body): Promise<LimitReport> {
  const project = projectOf(deps.host, body);
  const change: Partial<Record<LimitName, number>> = {};
  for (const name of LIMIT_NAMES) {
    const given = optionalText(body, name);
    if (given !== undefined) change[name] = Number(given);
  }
  if (Object.keys(change).length === 0) {
    const message = 'The request changes nothing. Enter a limit, such as --rules 30';
    throw invalidField('rules', message);
  }
  await deps.host.submit({
    project,
    ...changeOf(PROJECT_LIMIT_PATHS.set, body),
    decide: (draft) => ({ ...setLimits(draft, change) }),
  });
  return reportOf(deps, project);
}

async function retire({ host }: ProjectLimitRouteDeps, body: Body): Promise<RetiredVmAnswer> {
  const project = projectOf(host, body);
  const given = text(body, 'vm');
  const prefix = `projects/${project}/vms/`;
  const vm = given.startsWith(prefix) ? given.slice(prefix.length) : given;
  const change = changeOf(PROJECT_LIMIT_PATHS.retireVm, body);
  const { answer } = await retireVms(host, { project, ...change, vms: [vm] });
  if (answer.refused.length > 0) {
    throw new Refusal('NOT_FOUND', `There is no VM ${given} in projects/${project}`);
  }
  return { vm: prefix + vm, isNew: answer.retired.length > 0 };
}
