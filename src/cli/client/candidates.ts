/**
 * Resolves names of a project's resources: by display name, mail address or VM. An id always means
 * itself; a name is accepted only if it is unique.
 */

import { closestName } from '../../../actors/platform/closest-name.ts';
import { AutomationService } from '../../gen/svc/iam/v1/automation_pb.ts';
import { AlertService } from '../../gen/svc/monitoring/v1/alert_pb.ts';
import { Incident_State } from '../../gen/svc/monitoring/v1/incident_pb.ts';
import { MaintenanceService } from '../../gen/svc/monitoring/v1/maintenance_pb.ts';
import { MonitoringService } from '../../gen/svc/monitoring/v1/monitoring_pb.ts';
import { Invitation_State, ProjectService } from '../../gen/svc/project/v1/project_pb.ts';
import type { Api } from './api.ts';
import { quoted } from './arguments.ts';
import { conditionText } from './condition-text.ts';
import { EXIT_NOT_FOUND, Fault, printable, UsageError } from './faults.ts';
import { everyItem } from './paging.ts';
import { localTime } from './texts.ts';

/** One possible match of a name. */
export interface Candidate {
  /** Full resource name. */
  readonly name: string;
  /** Display names; the first one is shown. */
  readonly labels: readonly string[];
  /** Distinguishes it from others with the same name. */
  readonly detail?: string;
}

interface Kind {
  /** Noun for messages: `destination`, `destinations`. */
  readonly one: string;
  readonly many: string;
  /** The command that lists them. */
  readonly list: string;
  /** All possible matches of `given`; '' for all resources. */
  readonly find: (api: Api, projectName: string, given: string) => Promise<Candidate[]>;
}

const alerts = AlertService.method;
const iam = AutomationService.method;
const project = ProjectService.method;

interface Displayed extends Pick<Candidate, 'name' | 'detail'> {
  readonly displayName: string;
}

/** A kind whose resources have a display name. */
function displayed(
  one: string,
  command: string,
  list: (api: Api, request: { readonly projectName: string }) => Promise<readonly Displayed[]>,
): Kind {
  return {
    one,
    many: `${one}s`,
    list: command,
    find: async (api, projectName) =>
      (await list(api, { projectName })).map(({ name, displayName, detail = '' }) => {
        return { name, labels: [displayName], detail };
      }),
  };
}

const KINDS = {
  alertRules: displayed('alert rule', 'svc alerts list', async (api, request) => {
    const rules = await everyItem(api, alerts.listAlertRules, request, 'rules');
    return rules.map(({ name, spec }) => {
      return { name, displayName: spec?.displayName ?? '', detail: conditionText(spec) };
    });
  }),
  destinations: displayed('destination', 'svc destinations list', (api, request) =>
    everyItem(api, alerts.listDestinations, request, 'destinations'),
  ),
  serviceAccounts: displayed('service account', 'svc service-accounts list', (api, request) =>
    everyItem(api, iam.listServiceAccounts, request, 'serviceAccounts'),
  ),
  ciConnections: displayed('CI trust', 'svc trusts list', (api, request) =>
    everyItem(api, iam.listCiConnections, request, 'connections'),
  ),
  ciVerifications: displayed('verification', 'svc trusts list --verifications', (api, request) =>
    everyItem(api, iam.listCiVerifications, request, 'verifications'),
  ),
  vms: {
    one: 'VM',
    many: 'VMs',
    list: 'svc monitoring vms',
    async find(api, projectName, given) {
      const search = given.slice(0, VM_SEARCH_MAX);
      const request = { projectName, search, inventoryOnly: true };
      const vms = await everyItem(api, MonitoringService.method.listVMMonitoring, request, 'vms');
      return vms.map(({ name, displayName }) => ({ name, labels: [displayName] }));
    },
  },
  members: {
    one: 'member',
    many: 'members',
    list: 'svc members list',
    async find(api, projectName) {
      const members = await everyItem(api, project.listMembers, { projectName }, 'members');
      return members.map(({ name, displayName, email, unprovenEmail }) => {
        return { name, labels: [email || unprovenEmail, displayName] };
      });
    },
  },
  invitations: {
    one: 'open invitation',
    many: 'open invitations',
    list: 'svc members list --invitations',
    async find(api, projectName) {
      const invitations = await everyItem(
        api,
        project.listInvitations,
        { projectName },
        'invitations',
      );
      return invitations
        .filter(({ state }) => state === Invitation_State.PENDING)
        .map(({ name, email }) => ({ name, labels: [email] }));
    },
  },
  maintenanceWindows: {
    one: 'maintenance window',
    many: 'maintenance windows',
    list: 'svc maintenance list',
    async find(api, projectName) {
      const { listMaintenanceWindows } = MaintenanceService.method;
      const windows = await everyItem(api, listMaintenanceWindows, { projectName }, 'windows');
      return windows.map(({ name, note }) => ({ name, labels: [note] }));
    },
  },
  incidents: {
    one: 'firing incident',
    many: 'firing incidents',
    list: 'svc incidents list',
    async find(api, projectName, given) {
      // Incidents that have ended are found only by id; an abbreviated id is matched against the
      // newest ones.
      if (/^inc_\w{4,}$/.test(given)) {
        const { incidents } = await api.call(alerts.listIncidents, {
          projectName,
          pageSize: NEWEST,
        });
        return incidents.map(({ name }) => ({ name, labels: [] }));
      }
      const request = { projectName, state: Incident_State.FIRING };
      const incidents = await everyItem(api, alerts.listIncidents, request, 'incidents');
      return incidents.map(({ name, ruleDisplayName, vmName, vmDisplayName, startedUnix }) => {
        const vm = vmName.slice(vmName.lastIndexOf('/') + 1);
        const subject = vmDisplayName || vm;
        const full = `${ruleDisplayName} on ${subject}`;
        const detail = `started ${localTime(startedUnix)}`;
        return { name, labels: [full, ruleDisplayName, subject, vm], detail };
      });
    },
  },
  deliveries: {
    one: 'delivery',
    many: 'deliveries',
    list: 'svc deliveries list',
    async find(api, projectName) {
      const { deliveries } = await api.call(alerts.listDeliveries, {
        projectName,
        pageSize: NEWEST,
      });
      return deliveries.map(({ name }) => ({ name, labels: [] }));
    },
  },
} satisfies Readonly<Record<string, Kind>>;

/** The projects of a signed-in person. */
export const PROJECTS = {
  many: 'projects',
  find: async (api: Api): Promise<Candidate[]> => {
    const projects = await everyItem(api, project.listProjects, {}, 'projects');
    return projects.map(({ name, displayName }) => ({ name, labels: [displayName] }));
  },
} as const;

/** Number of resources without a name that are searched, newest first. */
const NEWEST = 500;

/** Limit of the service's search. */
const VM_SEARCH_MAX = 100;

/** A collection of a project whose resources have names besides their ids. */
export type NamedCollection = keyof typeof KINDS;

/** True for one of them. */
export function isNamed(collection: string): collection is NamedCollection {
  return Object.hasOwn(KINDS, collection);
}

/** All resources of the collection that match a text; all if it is ''. */
export function candidatesOf(
  api: Api,
  project: string,
  collection: NamedCollection,
  given: string,
): Promise<Candidate[]> {
  const kind: Kind = KINDS[collection];
  return kind.find(api, project, given);
}

/** Nouns for the resources of a collection. */
export function wordsFor(collection: NamedCollection): Pick<Kind, 'one' | 'many' | 'list'> {
  return KINDS[collection];
}

/**
 * The single match: by id, then by exact name, then ignoring case, then by the beginning of the id
 * as shown on terminals. Undefined if absent. Throws `UsageError` with the candidates if
 * there are several.
 */
export function meantBy(
  given: string,
  candidates: readonly Candidate[],
  { many }: Pick<Kind, 'many'>,
): Candidate | undefined {
  const byId = candidates.find(({ name }) => name === given || name.endsWith(`/${given}`));
  if (byId) return byId;
  const lower = given.toLowerCase();
  const exactly = candidates.filter(({ labels }) => labels.includes(given));
  const inAnyCase = candidates.filter(({ labels }) =>
    labels.some((label) => label.toLowerCase() === lower),
  );
  const named = exactly.length > 0 ? exactly : inAnyCase;
  const begun =
    given.length < PREFIX_MIN ? [] : candidates.filter(({ name }) => name.includes(`/${given}`));
  const meant = named.length > 0 ? named : begun;
  if (meant.length <= 1) return meant[0];
  const ids = meant.slice(0, SHOWN_MAX).map(lineOf);
  const more = meant.length > ids.length ? [`and ${meant.length - ids.length} more`] : [];
  const what = `${quoted(given)} is the name of ${meant.length} ${many}. Use the id of one`;
  throw new UsageError(what, [...ids, ...more].join('\n'));
}

const SHOWN_MAX = 10;
/** Minimum length of an abbreviated id. */
const PREFIX_MIN = 8;

function lineOf({ name, labels, detail = '' }: Candidate): string {
  const [label = ''] = labels.filter(Boolean);
  return [idOf(name), label, detail].filter(Boolean).map(printable).join('  ');
}

function idOf(name: string): string {
  return name.slice(name.lastIndexOf('/') + 1);
}

/** The fault for a text without a match, with the name that was probably meant. */
export function nothingNamed(
  given: string,
  candidates: readonly Candidate[],
  { one, list }: Pick<Kind, 'one' | 'list'>,
): Fault {
  const names = candidates.flatMap(({ name, labels }) => [...labels.filter(Boolean), idOf(name)]);
  const closest = closestName(given, names);
  return new Fault(`No ${one} named ${quoted(given)} in the project`, {
    exitCode: EXIT_NOT_FOUND,
    reason: 'NOT_FOUND',
    hint: closest ? `Did you mean ${quoted(closest)}?` : `List them: ${list}`,
  });
}
