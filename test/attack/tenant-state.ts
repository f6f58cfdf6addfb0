/**
 * Everything that a tenant's owner can list: any difference after an attack is a change by someone
 * else.
 */
import type { Target } from './target.ts';
import { Api, type Tenant } from './tenants.ts';

const LISTS = {
  'monitoring.v1.AlertService/': [
    'ListAlertRules',
    'ListIncidents',
    'ListDestinations',
    'ListNotices',
  ],
  'iam.v1.AutomationService/': ['ListServiceAccounts', 'ListCiVerifications', 'ListCiConnections'],
  'project.v1.ProjectService/': ['ListMembers', 'ListInvitations'],
  'audit.v1.AuditService/': ['ListMachines'],
} as const;

/** Fields with times of last use, contact or attempt, which change by themselves. */
const MOVING = new Set([
  'lastUsedUnix',
  'lastExchangeUnix',
  'lastObservedUnix',
  'telemetry',
  'timeline',
  'attemptsLeft',
  'lastRefusal',
  'lastRefusalUnix',
]);

/** The state, one line per list. */
export async function stateOf(target: Target, tenant: Tenant): Promise<string[]> {
  const api = new Api(target);
  const { project, names, credentials } = tenant;
  const lists: (readonly [string, object])[] = Object.entries(LISTS).flatMap(([service, methods]) =>
    methods.map((method) => [`${service}${method}`, { projectName: project }] as const),
  );
  lists.push([
    'iam.v1.AutomationService/ListKeys',
    { parent: names.ServiceAccount, includeEnded: true },
  ]);
  const lines: string[] = [];
  for (const [method, body] of lists) {
    const answer = await api.call(method, body, credentials.owner);
    const kept = JSON.stringify(answer, (name, value) => (MOVING.has(name) ? undefined : value));
    lines.push(`${method} ${kept}`);
  }
  return lines;
}
