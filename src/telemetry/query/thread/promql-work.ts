/**
 * What a query thread does for the PromQL URL: one request in, the bytes of its answer out. Faults
 * of an expression or its data are answers; what is thrown is a fault of history or of ours.
 */
import { constants, gzipSync, zstdCompressSync } from 'node:zlib';
import type { Expr } from '../../promql/ast.ts';
import { Budget, type BudgetLimits } from '../../promql/budget.ts';
import { type QueryDeps, queryInstant, queryRange } from '../../promql/engine/engine.ts';
import { PromqlError } from '../../promql/errors.ts';
import { compareLabels, type Labels } from '../../promql/labels.ts';
import type { Matcher } from '../../promql/matcher.ts';
import { describeExpression } from '../../promql/parse/describe.ts';
import { formatExpression } from '../../promql/parse/print.ts';
import { QUERY_BYTES_MAX, QUERY_SAMPLES_MAX } from '../limits.ts';
import { errorAnswer } from '../promql-error-answer.ts';
import {
  type EncodingOptions,
  encodeData,
  encodeLabelSets,
  encodeResult,
  encodeTexts,
} from '../promql-json.ts';
import type { PromqlAnswer, PromqlCall, PromqlRequest } from '../promql-request.ts';
import type { HistorySeriesSource } from '../series/history-source.ts';
import { ParsedExpressions } from './parsed-expressions.ts';
import type { ThreadWork } from './thread-work.ts';

/** Argument of `promql`. */
export interface PromqlWork {
  readonly request: PromqlRequest;
  /** How long the evaluation may take from now, ms. */
  readonly remainingMs: number;
  /** Samples before it do not exist, Unix ms. */
  readonly retainedFromMs: number;
  /** Changes whenever a record of one of the project's VMs does. */
  readonly recordsRevision: number;
  /** Data centers that are stale now. */
  readonly staleDatacenters: readonly string[];
}

const LIMITS: BudgetLimits = { bytesMax: QUERY_BYTES_MAX, samplesMax: QUERY_SAMPLES_MAX };
/** Smaller answers gain less from packing than it costs. */
const PACKED_BYTES_MIN = 1024;
/** The first levels take most of what can be saved of numbers as text, in a tenth of the time. */
const GZIP_LEVEL = 1;
const ZSTD_LEVEL = 1;

export const promqlWork: ThreadWork = ({ series, clock }) => {
  const parsed = new ParsedExpressions();
  return {
    promql: (work: PromqlWork, isCancelled) => {
      const untilMs = clock.elapsed() + work.remainingMs;
      const budget = new Budget(LIMITS, () => {
        if (isCancelled()) return 'canceled';
        return clock.elapsed() > untilMs ? 'timeout' : undefined;
      });
      const { project } = work.request;
      const source = series.open(project, work.recordsRevision, work.retainedFromMs);
      const parse = (text: string) => parsed.parse(project, text);
      const result = new PromqlTask(work, { source, budget, parse }).answer();
      return { result, transfer: [result.body.buffer] };
    },
  };
};

interface TaskDeps extends QueryDeps {
  readonly source: HistorySeriesSource;
  readonly parse: (expression: string) => Expr;
}

/** One request being answered. */
class PromqlTask {
  readonly #work: PromqlWork;
  readonly #deps: TaskDeps;

  constructor(work: PromqlWork, deps: TaskDeps) {
    this.#work = work;
    this.#deps = deps;
  }

  answer(): PromqlAnswer {
    const { call, encoding } = this.#work.request;
    try {
      return pack(this.#body(call), encoding);
    } catch (error) {
      if (!(error instanceof PromqlError)) throw error;
      return { ...errorAnswer(error, call), encoding: 'identity' };
    }
  }

  #body(call: PromqlCall): Uint8Array<ArrayBuffer> {
    const { request } = this.#work;
    const lookback = request.lookbackMs === undefined ? {} : { lookbackMs: request.lookbackMs };
    switch (call.kind) {
      case 'instant': {
        const result = queryInstant({ ...call, ...lookback }, this.#deps);
        return encodeResult(result, this.#options());
      }
      case 'range': {
        const result = queryRange({ ...call, ...lookback }, this.#deps);
        return encodeResult(result, this.#options());
      }
      case 'series': {
        const { budget } = this.#deps;
        const sets = this.#labelSets(call).sort((one, other) => {
          budget.takeWork();
          return compareLabels(one, other);
        });
        return encodeLabelSets(sets, this.#options());
      }
      case 'labels': {
        const names = new Set<string>();
        for (const { pairs } of this.#labelSets(call)) for (const [name] of pairs) names.add(name);
        return this.#texts(names);
      }
      case 'labelValues': {
        const ofVms = this.#vmLabelValues(call);
        if (ofVms !== undefined) return this.#texts(ofVms);
        const values = new Set(this.#labelSets(call).map((set) => set.get(call.label)));
        values.delete('');
        return this.#texts(values);
      }
      case 'format':
        return encodeData(formatExpression(this.#deps.parse(call.expression)));
      case 'parse':
        return encodeData(describeExpression(this.#deps.parse(call.expression)));
    }
  }

  #texts(texts: ReadonlySet<string>): Uint8Array<ArrayBuffer> {
    return encodeTexts([...texts].sort(), this.#options());
  }

  /** Of all selectors together, each once; without a selector all there are. */
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

  /** The usual question of a dashboard's variable, answered from the VMs alone. */
  #vmLabelValues({ matches, label, startMs, endMs }: LabelValuesCall) {
    if (matches.length > 0) return undefined;
    const { source, budget } = this.#deps;
    return source.vmLabelValues(label, { fromMs: startMs, toMs: endMs }, budget);
  }

  #matchers(text: string): readonly Matcher[] {
    const expr = this.#deps.parse(text);
    if (expr.kind === 'vectorSelector' && expr.offsetMs === 0 && expr.at === null) {
      return expr.matchers;
    }
    const message = `1:1: parse error: expected a selector alone, as in up{job="x"}, got ${text}`;
    throw new PromqlError('bad_data', message);
  }

  #options(): EncodingOptions {
    return { limit: this.#work.request.limit, notices: this.#notices() };
  }

  /** A stale data center's series are history, and must not be read as the present. */
  #notices(): string[] {
    const { source } = this.#deps;
    const stale = this.#work.staleDatacenters.filter((name) => source.datacenters.has(name));
    return stale.map((name) => {
      const newestMs = source.newestObservedMs(name);
      const newest = newestMs === undefined ? 'none' : `of ${new Date(newestMs).toISOString()}`;
      return `data center ${JSON.stringify(name)} is stale: its newest observation is ${newest}`;
    });
  }
}

type LabelValuesCall = Extract<PromqlCall, { readonly kind: 'labelValues' }>;
type MetadataRange = Omit<Extract<PromqlCall, { readonly kind: 'series' }>, 'kind'>;

function pack(body: Uint8Array<ArrayBuffer>, encoding: PromqlAnswer['encoding']): PromqlAnswer {
  if (encoding === 'identity' || body.length < PACKED_BYTES_MIN) {
    return { status: 200, body, encoding: 'identity' };
  }
  const packed =
    encoding === 'gzip'
      ? gzipSync(body, { level: GZIP_LEVEL })
      : zstdCompressSync(body, { params: { [constants.ZSTD_c_compressionLevel]: ZSTD_LEVEL } });
  // Copied: what is handed over must not share its memory with anything that stays.
  return { status: 200, body: new Uint8Array(packed), encoding };
}
