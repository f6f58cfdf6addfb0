/**
 * Which formats a program reads and writes: what a member announces to the others, so that nobody
 * writes what one of them cannot read, and what a backup or a snapshot was made with.
 */
import { machineDefinitions } from '../../../machines/audit/registry.ts';
import type { MachineDefinition } from '../../../machines/platform/definition.ts';
import type { InstanceStore } from '../../../sqlite/platform/control/instance-store.ts';
import { COMMIT_FORMAT } from '../../../streams/platform/commit/commit.ts';
import type { Membership } from '../../../streams/platform/membership/membership.ts';
import { SHARES, type Share, shareOf } from '../../../streams/platform/membership/roster.ts';

export interface Formats {
  /** Of commits: this one and every older are read. */
  readonly commitFormat: number;
  /** Version of each machine by its name: rows of this one and every older are read. */
  readonly machineVersions: Readonly<Record<string, number>>;
}

/** The formats of this program, for its member record, its backups and its snapshots. */
export function programFormats(
  machines: ReadonlyMap<string, MachineDefinition> = machineDefinitions,
): Formats {
  const versions = [...machines.values()].map(({ name, version }) => [name, version] as const);
  return { commitFormat: COMMIT_FORMAT, machineVersions: Object.fromEntries(versions) };
}

/**
 * What of `theirs` is newer than `ours` can read, in words: `commits of format 2`, `machine
 * delivery 4`. Empty: all of it can be read.
 */
export function newerFormats(theirs: Formats, ours: Formats = programFormats()): string[] {
  const newer = Object.entries(theirs.machineVersions)
    .filter(([name, version]) => version > (ours.machineVersions[name] ?? 0))
    .map(([name, version]) => `machine ${name} ${version}`);
  if (theirs.commitFormat <= ours.commitFormat) return newer;
  return [`commits of format ${theirs.commitFormat}`, ...newer];
}

/**
 * Shares of projects with rows that this program is too old to move. A member must not act for such
 * a share: its machines would refuse the rows. Rows that have ended count too.
 */
export function newerShares(
  store: Pick<InstanceStore, 'projects' | 'machineVersions'>,
  { machineVersions: ours }: Formats = programFormats(),
): ReadonlySet<Share> {
  const isNewer = ([machine, version]: [string, number]) => version > (ours[machine] ?? 0);
  const projects = store
    .projects()
    .filter((project) => Object.entries(store.machineVersions(project)).some(isNewer));
  return new Set(projects.map(shareOf));
}

/**
 * Shares with rows that this program is too old for: a member says so on its record, and gets no lease
 * of them. They are looked for only where another version is, or was.
 */
export function unfitShares({
  member,
  version,
  store,
  formats,
}: {
  readonly member: Pick<Membership, 'members'>;
  /** Of this program. */
  readonly version: string;
  readonly store: Pick<InstanceStore, 'projects' | 'machineVersions'>;
  /** Default: those of this program. */
  readonly formats?: Formats;
}): Share[] {
  if (member.members().every((each) => each.version === version)) return [];
  const newer = newerShares(store, formats);
  // In one order: records are compared.
  return SHARES.filter((share) => newer.has(share));
}
