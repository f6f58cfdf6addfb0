/**
 * Formats that a program reads and writes: announced by a member to the others, so that no one
 * writes what one of them cannot read, and recorded with a backup or a snapshot.
 */
import { machineDefinitions } from '../../../machines/audit/registry.ts';
import type { MachineDefinition } from '../../../machines/platform/definition.ts';
import type { InstanceStore } from '../../../sqlite/platform/control/instance-store.ts';
import { COMMIT_FORMAT } from '../../../streams/platform/commit/commit.ts';
import type { Membership } from '../../../streams/platform/membership/membership.ts';
import { SHARES, type Share, shareOf } from '../../../streams/platform/membership/roster.ts';

export interface Formats {
  /** Format of commits; this and all older ones can be read. */
  readonly commitFormat: number;
  /** Version of each machine by its name; rows of this and all older ones can be read. */
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
 * Formats in `theirs` that are too new for `ours`, in words: `commits of format 2`, `machine
 * delivery 4`. Empty: all of them can be read.
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
 * a share: its machines would refuse the rows. Ended rows count too.
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
 * Shares with rows that this program is too old for: a member reports them in its record and gets
 * no lease for them. They are searched for only if another version is, or was, present.
 */
export function unfitShares({
  member,
  version,
  store,
  formats,
}: {
  readonly member: Pick<Membership, 'members'>;
  /** Version of this program. */
  readonly version: string;
  readonly store: Pick<InstanceStore, 'projects' | 'machineVersions'>;
  /** Default: those of this program. */
  readonly formats?: Formats;
}): Share[] {
  if (member.members().every((each) => each.version === version)) return [];
  const newer = newerShares(store, formats);
  // In a fixed order, because records are compared.
  return SHARES.filter((share) => newer.has(share));
}
