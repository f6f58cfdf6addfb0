/**
 * Texts of values for people: times, enums and names, as tables and facts show them. Times are
 * local, in ISO format with their offset.
 */
import { withOffset } from '../../platform/time-text.ts';

/** Placeholder for unobserved values in a table: never a zero. */
export const NOT_OBSERVED = '-';

/** `2026-11-21T15:32:28+01:00`; '' for 0 or an absent time. */
export function localTime(unixSeconds: bigint | number | undefined): string {
  const seconds = Number(unixSeconds ?? 0);
  if (seconds === 0) return '';
  const unixMs = seconds * 1000;
  return Number.isNaN(new Date(unixMs).getTime()) ? '?' : withOffset(unixMs);
}

/** Name of an enum value; '' if it is unspecified or unknown to this program. */
export function enumText(names: Readonly<Record<string, unknown>>, value: number): string {
  const name = Object.entries(names).find(([, known]) => known === value)?.[0] ?? '';
  return value === 0 ? '' : name;
}

/** Names of an enum's values except zero. */
export function namesOf(members: Readonly<Record<string, number>>): string[] {
  return Object.keys(members).filter((name) => (members[name] ?? 0) > 0);
}

/** Name in a list: the display name, or else the id. */
export function displayedName(displayName: string, name: string): string {
  return displayName || shortName(name);
}

/** Name shown alone: `Web (projects/p/vms/v)`. */
export function fullName(displayName: string, name: string): string {
  return displayName === '' ? name : `${displayName} (${name})`;
}

/** Last part of a resource name. */
export function shortName(name: string): string {
  return name.slice(name.lastIndexOf('/') + 1);
}

interface Created {
  readonly createdUnix: bigint;
  readonly createdBy: string;
  readonly createdByDisplayName: string;
}

/** Time and person of a creation. */
export function createdText({ createdUnix, createdBy, createdByDisplayName }: Created): string {
  return `${localTime(createdUnix)} by ${fullName(createdByDisplayName, createdBy)}`;
}
