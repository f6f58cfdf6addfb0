/**
 * Evaluation of one PromQL request in a query thread, from the request to the bytes of its
 * response, and the thread's cache of parsed expressions. A fault of an expression or its data is a
 * response. Exceptions are faults of history or bugs.
 */
import { constants, gzipSync, zstdCompressSync } from 'node:zlib';
import type { ThreadMethod } from '../../../../sqlite/telemetry/history/threads/supervised-thread.ts';
import type { Clock } from '../../../../streams/platform/clock.ts';
import { GAP_TOLERANCE_MS } from '../../../../streams/telemetry/entry.ts';
import type { Expr } from '../../promql/ast.ts';
import { Budget, type BudgetLimits } from '../../promql/budget.ts';
import { type QueryDeps, queryInstant, queryRange } from '../../promql/engine/engine.ts';
import { PromqlError } from '../../promql/errors.ts';
import type { Matcher } from '../../promql/matcher.ts';
import { describeExpression } from '../../promql/parse/describe.ts';
import { parseExpression } from '../../promql/parse/parse.ts';
import { formatExpression } from '../../promql/parse/print.ts';
import { compareLabels, type Labels } from '../../promql/values.ts';
import { ProjectCache, type ProjectCacheOptions, type Weighed } from '../series/project-series.ts';
import type { HistorySeriesSource, SeriesThread } from '../series/series-thread.ts';
import {
  PARSED_BYTES_MAX,
  PROJECT_PARSED_BYTES_MAX,
  QUERY_BYTES_MAX,
  QUERY_SAMPLES_MAX,
} from '../threads/limits.ts';
import {
  type EncodingOptions,
  encodeData,
  encodeLabelSets,
  encodeResult,
  encodeTexts,
  errorAnswer,
} from './promql-json.ts';
import type { PromqlAnswer, QueryOperation, ScheduledQueryRequest } from './query-request.ts';

const LIMITS: BudgetLimits = { bytesMax: QUERY_BYTES_MAX, samplesMax: QUERY_SAMPLES_MAX };

/** For smaller responses compression costs more than it gains. */
const PACKED_BYTES_MIN = 1024;

/** Low levels achieve most of the compression of numeric text in a tenth of the time. */
const GZIP_LEVEL = 1;

const ZSTD_LEVEL = 1;

/** The methods of a query thread, by name. */
export const promqlMethods = (
  series: SeriesThread,
  clock: Clock,
): Readonly<Record<string, ThreadMethod>> => {
  const parsed = new ParsedExpressions();
  return {
    promql: (scheduled: ScheduledQueryRequest, isCancelled) => {
      const untilMs = clock.elapsed() + scheduled.remainingMs;
      const budget = new Budget(LIMITS, () => {
        if (isCancelled()) return 'canceled';
        return clock.elapsed() > untilMs ? 'timeout' : undefined;
      });
      const { project } = scheduled.request;
      const source = series.open(project, scheduled);
      const parse = (text: string) => parsed.parse(project, text);
      const result = new QueryEvaluation(scheduled, { source, budget, parse }).answer();
      return { result, transfer: [result.body.buffer] };
    },
  };
};

/** The time of an observation stays true however old it is: it is meant to be compared with now. */
const AGELESS: ReadonlySet<string> = new Set(['svc_vm_last_observation_timestamp_seconds']);

interface EvaluationDeps extends QueryDeps {
  readonly source: HistorySeriesSource;
  readonly parse: (expression: string) => Expr;
}

/** One request being answered. */
class QueryEvaluation {
  readonly #scheduled: ScheduledQueryRequest;
  readonly #deps: EvaluationDeps;

  constructor(scheduled: ScheduledQueryRequest, deps: EvaluationDeps) {
    this.#scheduled = scheduled;
    this.#deps = deps;
  }

  answer(): PromqlAnswer {
    const { operation, encoding } = this.#scheduled.request;
    try {
      return pack(this.#body(operation), encoding);
    } catch (error) {
      if (!(error instanceof PromqlError)) throw error;
      return { ...errorAnswer(error, operation), encoding: 'identity' };
    }
  }

  #body(operation: QueryOperation): Uint8Array<ArrayBuffer> {
    const { request } = this.#scheduled;
    const lookback = {
      ...(request.lookbackMs !== undefined && { lookbackMs: request.lookbackMs }),
      gapToleranceMs: GAP_TOLERANCE_MS,
      ageless: AGELESS,
    };
    switch (operation.kind) {
      case 'instant': {
        const result = queryInstant({ ...operation, ...lookback }, this.#deps);
        return encodeResult(result, this.#options());
      }
      case 'range': {
        const result = queryRange({ ...operation, ...lookback }, this.#deps);
        return encodeResult(result, this.#options());
      }
      case 'series': {
        const { budget } = this.#deps;
        const sets = this.#labelSets(operation).sort((one, other) => {
          budget.takeWork();
          return compareLabels(one, other);
        });
        return encodeLabelSets(sets, this.#options());
      }
      case 'labels': {
        const names = new Set<string>();
        for (const { pairs } of this.#labelSets(operation))
          for (const [name] of pairs) names.add(name);
        return this.#texts(names);
      }
      case 'labelValues': {
        const ofVms = this.#vmLabelValues(operation);
        if (ofVms !== undefined) return this.#texts(ofVms);
        const values = new Set(this.#labelSets(operation).map((set) => set.get(operation.label)));
        values.delete('');
        return this.#texts(values);
      }
      case 'format':
        return encodeData(formatExpression(this.#deps.parse(operation.expression)));
      case 'parse':
        return encodeData(describeExpression(this.#deps.parse(operation.expression)));
    }
  }

  #texts(texts: ReadonlySet<string>): Uint8Array<ArrayBuffer> {
    return encodeTexts([...texts].sort(), this.#options());
  }

  /** Label sets of all selectors together, each once; all label sets if there is no selector. */
  #labelSets({ matches, startMs, endMs }: MetadataRange): Labels[] {
    const { source, budget } = this.#deps;
    const stretch = { fromMs: startMs, toMs: endMs };
    const selectors = matches.length === 0 ? [[]] : matches.map((text) => this.#matchers(text));
    const sets = new Map<string, Labels>();
    for (const matchers of selectors) {
      for (const set of source.labelSets(matchers, stretch, budget)) {
        budget.takeWork();
        sets.set(set.key, set);
      }
    }
    return [...sets.values()];
  }

  /** The usual request of a dashboard's variable, answered from the VMs alone. */
  #vmLabelValues({ matches, label, startMs, endMs }: LabelValuesCall) {
    if (matches.length > 0) return undefined;
    const { source, budget } = this.#deps;
    return source.vmLabelValues(label, { fromMs: startMs, toMs: endMs }, budget);
  }

  #matchers(text: string): readonly Matcher[] {
    // A request can hold hundreds of selectors, whose patterns take milliseconds each.
    this.#deps.budget.check();
    const expr = this.#deps.parse(text);
    if (expr.kind === 'vectorSelector' && expr.offsetMs === 0 && expr.at === null) {
      return expr.matchers;
    }
    const message = `1:1: parse error: expected only a selector such as up{job="x"}, got ${text}`;
    throw new PromqlError('bad_data', message);
  }

  #options(): EncodingOptions {
    return { limit: this.#scheduled.request.limit, notices: this.#notices() };
  }

  /** Changes made to the request, and stale data centers: their series are history, not current. */
  #notices(): string[] {
    const { source } = this.#deps;
    const { staleDatacenters, request } = this.#scheduled;
    const stale = staleDatacenters.filter((name) => source.datacenters.has(name));
    const ofData = stale.map((name) => {
      const newestMs = source.newestObservedMs(name);
      const newest = newestMs === undefined ? 'none' : `of ${new Date(newestMs).toISOString()}`;
      return `data center ${JSON.stringify(name)} is stale: its newest observation is ${newest}`;
    });
    return [...(request.notices ?? []), ...ofData];
  }
}

type LabelValuesCall = Extract<QueryOperation, { readonly kind: 'labelValues' }>;

type MetadataRange = Omit<Extract<QueryOperation, { readonly kind: 'series' }>, 'kind'>;

function pack(body: Uint8Array<ArrayBuffer>, encoding: PromqlAnswer['encoding']): PromqlAnswer {
  if (encoding === 'identity' || body.length < PACKED_BYTES_MIN) {
    return { status: 200, body, encoding: 'identity' };
  }
  const packed =
    encoding === 'gzip'
      ? gzipSync(body, { level: GZIP_LEVEL })
      : zstdCompressSync(body, { params: { [constants.ZSTD_c_compressionLevel]: ZSTD_LEVEL } });
  // A copy: a transferred buffer must not share memory with anything that stays.
  return { status: 200, body: new Uint8Array(packed), encoding };
}

/** Memory of a tree per character of its text, measured on a heap. */
const CHARACTER_BYTES = 100;

class ParsedExpression implements Weighed {
  readonly tree: Expr;
  readonly #textBytes: number;
  readonly #matchers: readonly Matcher[];

  constructor(text: string, tree: Expr) {
    this.tree = tree;
    this.#textBytes = CHARACTER_BYTES * text.length;
    this.#matchers = matchersOf(tree);
  }

  get bytes(): number {
    return this.#matchers.reduce((sum, { bytes }) => sum + bytes, this.#textBytes);
  }
}

const PARSED_LIMITS = { bytesMax: PARSED_BYTES_MAX, projectBytesMax: PROJECT_PARSED_BYTES_MAX };

/**
 * Checked trees by text and project: dashboards send the same few expressions all day. The least
 * recently used are evicted first; faults are not cached.
 */
export class ParsedExpressions {
  readonly #kept: ProjectCache<ParsedExpression>;

  constructor(limits: ProjectCacheOptions = PARSED_LIMITS) {
    this.#kept = new ProjectCache(limits);
  }

  /** Approximate memory of the cache, bytes. */
  get bytes(): number {
    this.#kept.settle();
    return this.#kept.bytes;
  }

  /** Throws `PromqlError` bad_data each time. */
  parse(project: string, text: string): Expr {
    const known = this.#kept.get(project, text);
    if (known !== undefined) return known.tree;
    const parsed = new ParsedExpression(text, parseExpression(text));
    this.#kept.put(project, text, parsed);
    return parsed.tree;
  }
}

/** Without recursion: a text of 16 KiB can be a deep tree. */
function matchersOf(tree: Expr): readonly Matcher[] {
  const found: Matcher[] = [];
  const open: Expr[] = [tree];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    switch (node.kind) {
      case 'number':
      case 'string':
        break;
      case 'vectorSelector':
        found.push(...node.matchers);
        break;
      case 'matrixSelector':
        open.push(node.selector);
        break;
      case 'subquery':
      case 'unary':
      case 'paren':
        open.push(node.expr);
        break;
      case 'aggregate':
        open.push(node.expr);
        if (node.param !== null) open.push(node.param);
        break;
      case 'call':
        open.push(...node.args);
        break;
      case 'binary':
        open.push(node.lhs, node.rhs);
        break;
    }
  }
  return found;
}
