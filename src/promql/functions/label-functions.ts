/**
 * label_replace and label_join: the same samples under other labels (Prometheus 3.5,
 * `evalLabelReplace`, `evalLabelJoin`). Their names and their regular expression are checked before
 * anything is read.
 */
import { RE2JS } from 're2js';
import { PromqlError } from '../errors.ts';
import type { Labels } from '../labels.ts';
import { mergeSeries } from '../merge-series.ts';
import { stringArgument, vectorArgument } from './arguments.ts';
import { expandTemplate } from './expand-template.ts';
import type { CallContext, PromqlFunction } from './function.ts';

export const labelFunctions: Readonly<Record<string, PromqlFunction>> = {
  label_replace: (context) => {
    const [target, template, source, pattern] = stringArguments(context);
    const regex = compile(pattern);
    assertLabelName(target, 'destination', 'label_replace');
    return relabel(context, (labels) => {
      const matcher = regex.matcher(labels.get(source));
      if (!matcher.matches()) return labels;
      return labels.with(target, expandTemplate(template, matcher));
    });
  },
  label_join: (context) => {
    const [target, separator, ...sources] = stringArguments(context);
    for (const source of sources) assertLabelName(source, 'source', 'label_join');
    assertLabelName(target, 'destination', 'label_join');
    return relabel(context, (labels) => {
      const joined = sources.map((source) => labels.get(source)).join(separator);
      return labels.with(target, joined);
    });
  },
};

type Strings = [string, string, string, string, ...string[]];

/** All arguments but the first, which is the vector. */
function stringArguments(context: CallContext): Strings {
  return context.call.args.slice(1).map((_, i) => stringArgument(context, i + 1)) as Strings;
}

function relabel(context: CallContext, change: (labels: Labels) => Labels) {
  const series = vectorArgument(context, 0).map((column) => {
    context.budget.takeSamples(1);
    return { ...column, labels: change(column.labels) };
  });
  return { type: 'vector' as const, series: mergeSeries(series) };
}

function compile(pattern: string): RE2JS {
  try {
    return RE2JS.compile(pattern, RE2JS.DOTALL);
  } catch {
    const message = `invalid regular expression in label_replace(): ${pattern}`;
    throw new PromqlError('execution', message);
  }
}

/** Prometheus 3 takes any UTF-8 text for a label's name, but not an empty one. */
function assertLabelName(name: string, role: 'source' | 'destination', call: string): void {
  if (name !== '' && name.isWellFormed()) return;
  throw new PromqlError('execution', `invalid ${role} label name in ${call}(): ${name}`);
}
