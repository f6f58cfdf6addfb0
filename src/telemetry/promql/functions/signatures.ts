/**
 * Signatures of the PromQL functions, one row each. Both the checker and the table of
 * implementations read them, so neither can have a function that the other lacks. Source:
 * Prometheus 3.5, `promql/parser/functions.go`.
 */
import type { FunctionSignature, ValueType } from '../ast.ts';

const TYPES: Readonly<Record<string, ValueType>> = {
  s: 'scalar',
  t: 'string',
  v: 'vector',
  m: 'matrix',
};

/** Arguments and result, one letter each: `?` follows an optional argument, `*` a repeated one. */
const ROWS: Readonly<Record<string, string>> = {
  'v v': `abs absent acos acosh asin asinh atan atanh ceil cos cosh deg exp floor histogram_avg
    histogram_count histogram_stddev histogram_stdvar histogram_sum ln log10 log2 rad sgn sin sinh
    sort sort_desc sqrt tan tanh timestamp`,
  'v? v': 'day_of_month day_of_week day_of_year days_in_month hour minute month year',
  'm v': `absent_over_time avg_over_time changes count_over_time delta deriv first_over_time idelta
    increase irate
    last_over_time max_over_time min_over_time present_over_time rate resets stddev_over_time
    stdvar_over_time sum_over_time`,
  'vss v': 'clamp',
  'vs v': 'clamp_max clamp_min',
  'vs? v': 'round',
  'ssv v': 'histogram_fraction',
  'sv v': 'histogram_quantile',
  'vttt* v': 'label_join',
  'vtttt v': 'label_replace',
  ' s': 'pi time',
  'ms v': 'predict_linear',
  'sm v': 'quantile_over_time',
  'v s': 'scalar',
  's v': 'vector',
};

/** Functions behind a feature flag in Prometheus, rejected here. */
export const EXPERIMENTAL_FUNCTIONS: ReadonlySet<string> = new Set([
  'double_exponential_smoothing',
  'info',
  'mad_over_time',
  'sort_by_label',
  'sort_by_label_desc',
  'ts_of_first_over_time',
  'ts_of_last_over_time',
  'ts_of_max_over_time',
  'ts_of_min_over_time',
]);

/**
 * Signatures by function name. A name missing here is rejected as an unknown function before
 * anything is read.
 */
export const functionSignatures: ReadonlyMap<string, FunctionSignature> = new Map(
  Object.entries(ROWS).flatMap(([form, names]) =>
    names.split(/\s+/).map((name) => [name, signatureOf(name, form)] as const),
  ),
);

function signatureOf(name: string, form: string): FunctionSignature {
  const [taken = '', result = ''] = form.split(' ');
  const args = taken.replace(/[?*]/g, '').split('').map(typeOfLetter);
  const variadic = taken.endsWith('?') ? 1 : taken.endsWith('*') ? -1 : 0;
  return { name, args, variadic, returns: typeOfLetter(result) };
}

function typeOfLetter(letter: string): ValueType {
  const type = TYPES[letter];
  if (type === undefined) throw new Error(`No type has the letter "${letter}"`);
  return type;
}
