/**
 * label_replace and label_join: the same samples with other labels (Prometheus 3.5,
 * `evalLabelReplace`, `evalLabelJoin`). Label names and the regular expression are checked before
 * anything is read.
 */
import type { Matcher, RE2JS } from 're2js';
import { PromqlError } from '../errors.ts';
import { compileRegexp, RegexpError, RegexpTooLarge } from '../matcher.ts';
import { mergeSeries } from '../merge-series.ts';
import { joinLabelValue, type Labels, takeLabels, type VectorValue } from '../values.ts';
import { stringArgument, vectorArgument } from './arguments.ts';
import type { CallContext, PromqlFunction } from './function.ts';

/**
 * Functions over labels alone; values and presence are shared with the argument. If two series end
 * up with the same labels, the call fails.
 */
export const labelFunctions: Readonly<Record<string, PromqlFunction>> = {
  label_replace: (context) => {
    const [target, template, source, pattern] = stringArguments(context);
    // An expression of 16 KiB can hold hundreds of patterns that take milliseconds each.
    context.budget.check();
    const regex = compile(pattern);
    assertLabelName(target, 'destination', 'label_replace');
    // Label values repeat between series. undefined: no match.
    const seen = new Map<string, string | undefined>();
    return relabel(context, (labels) => {
      const text = labels.get(source);
      if (!seen.has(text)) seen.set(text, replacementOf(regex, text, template));
      const replacement = seen.get(text);
      return replacement === undefined ? labels : labels.with(target, replacement);
    });
  },
  label_join: (context) => {
    const [target, separator, ...sources] = stringArguments(context);
    for (const source of sources) assertLabelName(source, 'source', 'label_join');
    assertLabelName(target, 'destination', 'label_join');
    return relabel(context, (labels) => {
      context.budget.takeWork(sources.length);
      return labels.with(target, joinLabelValue(joinedPieces(labels, sources, separator)));
    });
  },
};

function* joinedPieces(labels: Labels, sources: readonly string[], separator: string) {
  for (const [i, source] of sources.entries()) {
    if (i > 0) yield separator;
    yield labels.get(source);
  }
}

type Strings = [string, string, string, string, ...string[]];

/** All arguments except the first, which is the vector. */
function stringArguments(context: CallContext): Strings {
  return context.call.args.slice(1).map((_, i) => stringArgument(context, i + 1)) as Strings;
}

function relabel(context: CallContext, change: (labels: Labels) => Labels): VectorValue {
  const { budget } = context;
  const series = vectorArgument(context, 0).map((column) => {
    // A costly expression over a long text takes milliseconds.
    budget.check();
    const labels = change(column.labels);
    return { ...column, labels: labels === column.labels ? labels : takeLabels(labels, budget) };
  });
  return { type: 'vector', series: mergeSeries(series, budget) };
}

function compile(pattern: string): RE2JS {
  try {
    return compileRegexp(pattern);
  } catch (error) {
    if (!(error instanceof RegexpError)) throw error;
    const why = error instanceof RegexpTooLarge ? error.message : pattern;
    throw new PromqlError('execution', `invalid regular expression in label_replace(): ${why}`);
  }
}

function replacementOf(regex: RE2JS, text: string, template: string): string | undefined {
  const matcher = regex.matcher(text);
  return matcher.matches() ? joinLabelValue(expandTemplate(template, matcher)) : undefined;
}

/** Prometheus 3 accepts any UTF-8 text as a label name, except an empty one. */
function assertLabelName(name: string, role: 'source' | 'destination', call: string): void {
  if (name !== '' && name.isWellFormed()) return;
  throw new PromqlError('execution', `invalid ${role} label name in ${call}(): ${name}`);
}

/** `$name` extends as far as it can: `$1x` is the group called `1x`. */
const REFERENCE = /\$(?:(\$)|([\p{L}\p{Nd}_]+)|\{([\p{L}\p{Nd}_]+)\})/gu;

/**
 * The text in pieces: a short template can reference a long group a thousand times. A group that
 * does not exist or did not match is empty text.
 */
function* expandTemplate(template: string, matcher: Matcher): Generator<string> {
  let end = 0;
  for (const reference of template.matchAll(REFERENCE)) {
    const [whole, dollar, bare, braced] = reference;
    yield template.slice(end, reference.index);
    yield dollar === undefined ? groupOf(matcher, bare ?? braced ?? '') : '$';
    end = reference.index + whole.length;
  }
  yield template.slice(end);
}

function groupOf(matcher: Matcher, name: string): string {
  if (/^(0|[1-9][0-9]*)$/.test(name)) {
    const index = Number(name);
    return index <= matcher.groupCount() ? (matcher.group(index) ?? '') : '';
  }
  return Object.hasOwn(matcher.namedGroups, name) ? (matcher.group(name) ?? '') : '';
}
