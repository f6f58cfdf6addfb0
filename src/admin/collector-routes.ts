/**
 * Keys of collectors, made by the operator: each for one data center, into one, several or all
 * projects. Only the operator makes such keys, because their holders report what a hypervisor
 * observed.
 */

import { checkedNetworks } from '../../actors/identity/checks.ts';
import { KEY_LIFETIME_MS_MAX, startCredential } from '../../actors/identity/credentials.ts';
import { projectRecord } from '../../actors/identity/members.ts';
import type { Host, Instance } from '../../actors/platform/host/host-port.ts';
import type {
  CollectorReading,
  CollectorReadings,
} from '../../actors/telemetry/ingest/collector-readings.ts';
import type {
  RefusedReading,
  RefusedReadings,
} from '../../actors/telemetry/ingest/refused-readings.ts';
import type { VmSources } from '../../actors/vms/vm-sources.ts';
import type { Clock } from '../../streams/platform/clock.ts';
import { SYSTEM_PROJECT } from '../../streams/platform/commit/commit.ts';
import { itemsOf } from '../../streams/platform/commit/page.ts';
import type { Random } from '../../streams/platform/random.ts';
import { invalidField, Refusal } from '../../streams/platform/refusal.ts';
import { mintKey } from '../platform/keys.ts';
import { label } from '../platform/settings/setting-kinds.ts';
import type { Settings } from '../platform/settings/settings.ts';
import type { AdminRoutes } from './admin-server.ts';
import { revokeInDraft } from './identity-routes.ts';
import { type Body, changeOf, optionalText } from './operator.ts';

export const COLLECTOR_PATHS = {
  create: '/v1/collector-keys/create',
  list: '/v1/collector-keys/list',
  revoke: '/v1/collector-keys/revoke',
  readings: '/v1/collectors',
} as const;

/** Times in Unix ms, in all responses. */
export interface MadeCollectorKey {
  readonly id: string;
  readonly datacenter: string;
  /** The only one; null: see `projects`. */
  readonly project: string | null;
  /** The projects of the key; null: every one. */
  readonly projects: readonly string[] | null;
  /** Addresses and networks that it may be used from; null: any. */
  readonly networks: readonly string[] | null;
  readonly expiresMs: number;
  /** The secret, returned only once. */
  readonly key: string;
  /** false for a resend; `key` is '' then, and cannot be read again. */
  readonly secretAvailable: boolean;
}

export interface ListedCollectorKey {
  readonly id: string;
  readonly datacenter: string;
  /** The only one; null: see `projects`. */
  readonly project: string | null;
  /** The projects of the key; null: every one. */
  readonly projects: readonly string[] | null;
  /** Addresses and networks that it may be used from; null: any. */
  readonly networks: readonly string[] | null;
  readonly lastFour: string;
  readonly state: string;
  readonly createdMs: number;
  readonly expiresMs: number;
  /** Absent if it was never used. */
  readonly lastUsedMs?: number;
}

export interface RevokedCollectorKey {
  readonly id: string;
  readonly state: string;
  /** false if it had already ended. */
  readonly isNew: boolean;
}

/** A collector by its key, or a source of the service's own process. Times in Unix ms. */
export interface ListedCollector {
  /** Id of the key; for an own source its name, such as `libvirt`. */
  readonly id: string;
  readonly datacenter: string;
  /** Absent for an own source, which needs no key. */
  readonly expiresMs?: number;
  /** In each project of the key, or into which it wrote. */
  readonly readings: readonly {
    readonly project: string;
    /** Absent if there was none since the service's start. */
    readonly last?: CollectorReading;
    /**
     * VMs with rows that are currently rejected because another collector reports them; absent if
     * there are none.
     */
    readonly elsewhere?: { readonly vms: number; readonly running: number };
    /** Readings that it sends, or would send, and that are not stored; at most 20 causes. */
    readonly refused?: readonly RefusedReading[];
    readonly refusedCount?: number;
  }[];
}

export interface CollectorRouteDeps {
  readonly host: Host;
  readonly clock: Clock;
  readonly random: Random;
  readonly lastUsed: { of(credential: string): number | undefined };
  readonly readings: Pick<CollectorReadings, 'of' | 'names'>;
  readonly sources: Pick<VmSources, 'nameOf' | 'ownSources' | 'refusedOf'>;
  readonly refusedReadings: Pick<RefusedReadings, 'of'>;
  readonly settings: Pick<Settings, 'datacenter'>;
}

const DAY_MS = 86_400_000;
const LIFETIME_DAYS_DEFAULT = 90;
const PAGE = 1_000;

export function collectorRoutes(deps: CollectorRouteDeps): AdminRoutes {
  return {
    [COLLECTOR_PATHS.create]: (_signal, _onProgress, body) => create(deps, body),
    [COLLECTOR_PATHS.list]: async () => list(deps),
    [COLLECTOR_PATHS.readings]: async () => collectors(deps),
    [COLLECTOR_PATHS.revoke]: (_signal, _onProgress, body) => revoke(deps, body),
  };
}

async function create({ host, clock, random }: CollectorRouteDeps, body: Body) {
  const datacenter = datacenterOf(body);
  const named = projectsOf(body);
  const only = named?.length === 1 ? named[0] : undefined;
  const project = only ?? SYSTEM_PROJECT;
  for (const one of named ?? []) projectRecord(host.view(one), one);
  const lifetimeMs = daysOf(body) * DAY_MS;
  const networks = checkedNetworks(optionalText(body, 'network')?.split(',') ?? []);
  const minted = mintKey('col', { nowMs: clock.now(), random });
  const change = changeOf(COLLECTOR_PATHS.create, body);
  const { answer } = await host.submit({
    project,
    ...change,
    decide(draft) {
      const expiresMs = startCredential(draft, minted, {
        project,
        kind: 'col',
        capabilities: ['collector'],
        owner: ownerIn(project),
        displayName: `Collector of ${datacenter}`,
        createdBy: change.by.name,
        datacenter,
        networks,
        lifetimeMs,
        ...(named && !only && { projects: named }),
      });
      return { id: minted.id, expiresMs };
    },
  });
  const secretAvailable = answer.id === minted.id;
  const about = { ...answer, datacenter, project: only ?? null, projects: named ?? null, networks };
  return {
    ...about,
    secretAvailable,
    key: secretAvailable ? minted.text : '',
  } satisfies MadeCollectorKey;
}

/** Live keys of all projects. */
function list({ host, lastUsed }: CollectorRouteDeps): ListedCollectorKey[] {
  return [...host.projects()].sort().flatMap((project) =>
    liveKeys(host, project).map(({ instance: id, value, context }) => {
      const { datacenter, projects, networks = null, lastFour, createdMs, expiresMs } = context;
      const isOne = project !== SYSTEM_PROJECT;
      const lastUsedMs = lastUsed.of(id);
      return {
        id,
        datacenter: datacenter ?? '',
        networks,
        lastFour,
        state: String(value),
        ...(isOne ? { project, projects: [project] } : { project: null, projects }),
        createdMs,
        expiresMs,
        ...(lastUsedMs !== undefined && { lastUsedMs }),
      };
    }),
  );
}

/** Collectors with a live key, and the sources of this process. */
function collectors(deps: CollectorRouteDeps): ListedCollector[] {
  const { host, readings, sources, settings } = deps;
  const heardOwn = readings.names().filter((name) => !name.includes('/keys/'));
  const own = [...new Set([...heardOwn, ...sources.ownSources()])].sort();
  const keyed = [...host.projects()].sort().flatMap((project) =>
    liveKeys(host, project).map(({ instance: id, context }) => {
      const { datacenter, projects, owner, expiresMs } = context;
      const made = project === SYSTEM_PROJECT ? (projects ?? []) : [project];
      const name = `${owner}/keys/${id}`;
      const heard = readingsOf(deps, name, made, sources.refusedOf(name));
      return { id, datacenter: datacenter ?? '', expiresMs, readings: heard };
    }),
  );
  return [
    ...own.map((id) => ({
      id,
      datacenter: settings.datacenter,
      readings: readingsOf(deps, id, [], sources.refusedOf(sources.nameOf({ source: id }))),
    })),
    ...keyed,
  ];
}

/** Maximum causes of rejected readings that are listed per collector and project. */
const REFUSED_LISTED_MAX = 20;

/** @param name of the collector, as recorded with its readings; @param made projects of its key */
function readingsOf(
  { readings, refusedReadings }: CollectorRouteDeps,
  name: string,
  made: readonly string[],
  elsewhereBy: ReturnType<VmSources['refusedOf']>,
): ListedCollector['readings'] {
  const heard = readings.of(name);
  const read = heard.map(({ project }) => project);
  return [...new Set([...made, ...read, ...elsewhereBy.keys()])].sort().map((project) => {
    const last = heard.find((one) => one.project === project);
    const elsewhere = elsewhereBy.get(project);
    const refused = refusedReadings.of(project).filter(({ sender }) => sender === name);
    return {
      project,
      ...(last && { last }),
      ...(elsewhere && { elsewhere }),
      refused: refused.slice(0, REFUSED_LISTED_MAX),
      refusedCount: refused.length,
    };
  });
}

function liveKeys(host: Host, project: string): Instance<'credential'>[] {
  const view = host.view(project);
  const about = { final: false, owner: ownerIn(project) };
  return [...itemsOf(PAGE, (page) => view.instances('credential', { ...page, ...about }))];
}

async function revoke({ host }: CollectorRouteDeps, body: Body): Promise<RevokedCollectorKey> {
  const id = optionalText(body, 'id') ?? '';
  const row = host.findInstance('credential', id);
  if (row?.context.kind !== 'col') {
    const hint = '"svc admin collector-key list" shows their ids';
    throw new Refusal('NOT_FOUND', `There is no collector's key ${id}: ${hint}`);
  }
  const change = changeOf(COLLECTOR_PATHS.revoke, body);
  const { answer } = await host.submit({
    project: row.project,
    ...change,
    decide: (draft) => revokeInDraft(draft, id, change.by),
  });
  return { id, ...answer };
}

/** The owner of such keys, by which they are found among all others. */
function ownerIn(project: string): string {
  return project === SYSTEM_PROJECT ? 'collectors' : `projects/${project}/collectors`;
}

/** Ids, without duplicates; undefined: every project. */
function projectsOf(body: Body): readonly string[] | undefined {
  const given = optionalText(body, 'project')?.split(',');
  const ids = given?.map((name) => name.trim().replace(/^projects\//, '')).filter(Boolean);
  return ids && [...new Set(ids)].sort();
}

function datacenterOf(body: Body): string {
  const given = optionalText(body, 'datacenter') ?? '';
  try {
    return label.parse(given);
  } catch {
    const message = `--datacenter is ${JSON.stringify(given)}: ${label.takes}`;
    throw invalidField('datacenter', message);
  }
}

function daysOf(body: Body): number {
  const days = Number(optionalText(body, 'days') ?? LIFETIME_DAYS_DEFAULT);
  if (Number.isInteger(days) && days >= 1 && days * DAY_MS <= KEY_LIFETIME_MS_MAX) return days;
  const message = `--days must be a whole number from 1 to ${KEY_LIFETIME_MS_MAX / DAY_MS}`;
  throw invalidField('days', message);
}
