/**
 * The whole state of a partition as text, to compare two states. It walks all fields, so that a new
 * one is compared without a change here. Caches, which the next row rebuilds, are left out; rows
 * are described by the readings that their buffers use, and by which buffers share them.
 */
import type { BufferedInput, Instance } from '../../streams/alerting/evaluation/instance.ts';
import { PastRuns } from '../../streams/alerting/evaluation/past-runs.ts';
import type { EvaluationState } from '../../streams/alerting/evaluation/state.ts';
import { RunWindow } from '../../streams/alerting/evaluation/timeline.ts';
import type { ObservedValue } from '../../streams/telemetry/entry.ts';

/** Fields that are rebuilt on demand. */
const CACHES: ReadonlySet<string> = new Set([
  'plans',
  'planCharacters',
  'plansByList',
  'routes',
  'routesVersion',
  'version',
]);
/** Maps and sets whose order has no effect on decisions. */
const UNORDERED: ReadonlySet<string> = new Set([
  'vms',
  'facts',
  'retired',
  'held',
  'open',
  'unevaluated',
  'datacenters',
]);

/** The state as text: equal for states that decide alike. */
export function textOfState(state: EvaluationState): string {
  return new Walk().text('', state);
}

/** A value as text, bit for bit. */
export function textOf(value: unknown): string {
  return new Walk().text('', value);
}

/** Throws with the surroundings of the first difference. */
export function assertSameText(got: string, expected: string, what: string): void {
  if (got === expected) return;
  let at = 0;
  while (got[at] === expected[at]) at++;
  const near = (text: string): string => text.slice(Math.max(0, at - 200), at + 100);
  throw new Error(`The ${what} differ:\n${near(got)}\ninstead of\n${near(expected)}`);
}

class Walk {
  /** Rows of the VM by number: those that buffers share are shared in both states. */
  #rows = new Map<object, number>();

  text(name: string, value: unknown): string {
    if (Object.is(value, -0)) return '-0';
    if (typeof value === 'string') return JSON.stringify(value);
    if (typeof value !== 'object' || value === null) return String(value);
    if (value instanceof RunWindow) return this.text(name, windowOf(value));
    if (value instanceof PastRuns) return this.text(name, value.stretches());
    if (value instanceof Set) return this.#list(name, [...value]);
    if (value instanceof Map) {
      const entries = [...value].filter(([, each]) => !(each instanceof Map && each.size === 0));
      return this.#list(name, entries);
    }
    if (Array.isArray(value)) return `[${value.map((each) => this.text(name, each)).join()}]`;
    if (isInput(value)) return this.#input(value);
    if (isInstance(value) && name === 'open') return this.#instance(value);
    return this.#object(value);
  }

  #list(name: string, items: readonly unknown[]): string {
    const texts = items.map((item) => this.text(name, item));
    return `{${(UNORDERED.has(name) ? texts.sort() : texts).join()}}`;
  }

  #object(value: object): string {
    if ('buffers' in value) this.#rows = new Map();
    const fields = Object.entries(value).filter(
      ([name, each]) => each !== undefined && !CACHES.has(name),
    );
    const texts = fields.map(([name, each]) => {
      if (name === 'buffer') return 'buffer';
      if (name === 'rule' && isInstance(value)) return `rule ${value.rule.rule.rule}`;
      if (name === 'decided') return this.text(name, { ...each, key: undefined });
      const isDatacenters = name === 'buffers' && 'vm' in value && value.vm === '';
      return `${name} ${this.text(isDatacenters ? 'datacenters' : name, each)}`;
    });
    return `{${texts.sort().join()}}`;
  }

  #input({ row, input }: BufferedInput): string {
    const { values, ...fields } = row;
    const readings = input.slots.map((slot) => values[slot]);
    const { labels, keys } = input;
    return `row ${this.#number(row)} ${this.#object({ ...fields, labels, keys, readings })}`;
  }

  #instance({ rule, buffer }: Instance): string {
    return [rule.rule.project, rule.rule.rule, buffer.vm, buffer.labels].join(' ');
  }

  #number(row: object): number {
    const number = this.#rows.get(row) ?? this.#rows.size;
    this.#rows.set(row, number);
    return number;
  }
}

function windowOf(window: RunWindow): ObservedValue[] {
  const values: ObservedValue[] = [];
  window.copy({ fromMs: Number.NEGATIVE_INFINITY, toMs: Number.POSITIVE_INFINITY }, values);
  return values;
}

function isInput(value: object): value is BufferedInput {
  return 'row' in value && 'input' in value;
}

function isInstance(value: object): value is Instance {
  return 'settled' in value;
}
