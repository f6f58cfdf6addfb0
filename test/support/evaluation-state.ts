/**
 * The whole state of a partition as text, to compare two states. It walks all fields, so that a new
 * one is compared without a change here. Caches, which the next row makes again, are left out; rows
 * are described by the readings that their buffers use, and by which buffers share them.
 */
import type { BufferedInput, Instance } from '../../streams/alerting/evaluation/instance.ts';
import { PastRuns } from '../../streams/alerting/evaluation/past-runs.ts';
import type { EvaluationState } from '../../streams/alerting/evaluation/state.ts';
import { RunWindow } from '../../streams/alerting/evaluation/timeline.ts';
import type { ObservedValue } from '../../streams/telemetry/entry.ts';

/** Fields made again on demand. */
const CACHES: ReadonlySet<string> = new Set([
  'plans',
  'planCharacters',
  'plansByList',
  'routes',
  'routesVersion',
  'version',
]);
/** Maps and sets whose order has no effect on decisions. */
const UNORDERED: ReadonlySet<string> = new Set(['vms', 'facts', 'retired', 'held', 'open']);

/** The state as text: equal for states that decide alike. */
export function textOfState(state: EvaluationState): string {
  return new Walk().text('', state);
}

class Walk {
  /** Objects met before, by their number: shared rows and windows are shared in both states. */
  readonly #numbers = new Map<object, number>();

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
    const fields = Object.entries(value).filter(
      ([name, each]) => each !== undefined && !CACHES.has(name),
    );
    const texts = fields.map(([name, each]) => {
      if (name === 'buffer') return 'buffer';
      if (name === 'rule' && 'rule' in each) return `rule ${each.rule.rule}`;
      if (name === 'decided') return this.text(name, { ...each, key: undefined });
      return `${name} ${this.text(name, each)}`;
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

  #number(object: object): number {
    const number = this.#numbers.get(object) ?? this.#numbers.size;
    this.#numbers.set(object, number);
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
