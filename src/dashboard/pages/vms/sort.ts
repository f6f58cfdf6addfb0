/**
 * The sort order of the VM list, kept in the address. Pure. Missing values come last in both
 * directions.
 */
import type { Vm } from '../../data/catalogue.ts';

export interface Sort {
  readonly key: string;
  readonly descending: boolean;
}

type Value = number | string | undefined;

const values: Readonly<Record<string, (vm: Vm) => Value>> = {
  name: ({ displayName, name }) => (displayName || name).toLowerCase(),
  cpu: ({ cpuUtilizationPct }) => cpuUtilizationPct,
  memory: ({ memoryUsedBytes }) => memoryUsedBytes,
  observed: ({ telemetry }) => numberOf(telemetry?.lastObservedUnix),
};

function numberOf(text: string | undefined): number | undefined {
  return text === undefined ? undefined : Number(text);
}

const byName: Sort = { key: 'name', descending: false };

/** `cpu` is ascending, `-cpu` descending. */
export function parseSort(text: string | null): Sort {
  const key = text?.replace(/^-/, '') ?? '';
  return Object.hasOwn(values, key) ? { key, descending: text?.startsWith('-') === true } : byName;
}

/** The sort parameter after a click on a column title; numbers start in descending order. */
export function toggledSort(sort: Sort, key: string): string | undefined {
  const isFigure = key !== 'name';
  const descending = sort.key === key ? !sort.descending : isFigure;
  if (key === byName.key && !descending) return undefined;
  return descending ? `-${key}` : key;
}

export function sortVms(vms: readonly Vm[], { key, descending }: Sort): Vm[] {
  const read = values[key] ?? values.name;
  return vms
    .map((vm) => ({ vm, value: read?.(vm) }))
    .sort((a, b) => compare(a.value, b.value, descending))
    .map(({ vm }) => vm);
}

function compare(a: Value, b: Value, descending: boolean): number {
  if (a === undefined || b === undefined) return Number(a === undefined) - Number(b === undefined);
  const order =
    typeof a === 'string' && typeof b === 'string'
      ? a.localeCompare(b, undefined, { numeric: true })
      : Number(a) - Number(b);
  return descending ? -order : order;
}
