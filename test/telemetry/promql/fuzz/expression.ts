/**
 * Random expressions over all of the engine's PromQL, well-typed by construction, over the metrics
 * and labels of `data.ts`. Brackets are sometimes left out, so that precedence is tested too. The
 * result may be an error, which both engines must then report.
 */
import { functionSignatures } from '../../../../src/telemetry/promql/functions/signatures.ts';
import { BUCKETS, DATA_MS, DATA_START_MS, LABELS, METRICS } from './data.ts';
import type { Dice } from './dice.ts';
import type { Part, Piece } from './piece.ts';

const NUMBERS = ['0', '1', '2', '-1', '0.5', '10', '1e3', 'NaN', 'Inf', '-Inf', '0x1F', '.5', '3.'];
const DURATIONS = ['15s', '30s', '1m', '90s', '5m', '1m30s', '10m', '45', '1h', '7s', '300ms'];
const SUBQUERY_STEPS = ['', '', '15s', '1m', '30s', '7s', '2m'];
const ARITHMETIC = ['+', '-', '*', '/', '%', '^', 'atan2'];
const COMPARISON = ['==', '!=', '<', '>', '<=', '>='];
const SET_OPERATORS = ['and', 'or', 'unless'];
const AGGREGATES = ['sum', 'avg', 'min', 'max', 'count', 'group', 'stddev', 'stdvar'];

/** Newer than the Prometheus under comparison, or about native histograms. */
const LEFT_OUT = /^(histogram_(avg|count|sum|stddev|stdvar)|first_over_time)$/;

/** Functions of one vector (and optional scalars) without special cases. */
const VECTOR_FUNCTIONS = namesWhere((args) => args === 'vector' || args === 'vector,scalar');
const MATRIX_FUNCTIONS = namesWhere((args) => args === 'matrix');
function namesWhere(fits: (args: string) => boolean): string[] {
  return [...functionSignatures.values()]
    .filter(
      ({ name, args, returns }) =>
        fits(args.join()) && returns === 'vector' && !LEFT_OUT.test(name),
    )
    .map(({ name }) => name);
}

/** A vector or scalar expression; for instant queries sometimes a matrix or a string. */
export function generateExpression(dice: Dice): Piece {
  const maker = new ExpressionMaker(dice);
  return dice.weighted<Piece>([
    [20, () => maker.vector(dice.between(1, 4))],
    [2, () => maker.scalar(dice.between(1, 3))],
    [1, () => maker.matrix(dice.between(0, 2))],
    [0.2, () => maker.string()],
  ]);
}

class ExpressionMaker {
  readonly #dice: Dice;

  constructor(dice: Dice) {
    this.#dice = dice;
  }

  vector(depth: number): Piece {
    if (depth <= 0) return this.#selector();
    const next = depth - 1;
    return this.#dice.weighted<Piece>([
      [2, () => this.#selector()],
      [5, () => this.#aggregate(next)],
      [4, () => this.#vectorWithVector(next)],
      [3, () => this.#vectorWithScalar(next)],
      [2, () => this.#setOperation(next)],
      [3, () => this.#vectorFunction(next)],
      [7, () => this.#rangeFunction(next)],
      [1, () => this.#relabelled(next)],
      [1.5, () => this.#histogram(next)],
      [1, () => this.#oddFunction(next)],
      [0.7, () => vector(this.#dice.pick(['-', '+', '-']), this.vector(next))],
      [0.5, () => vector('(', this.vector(next), ')')],
    ]);
  }

  scalar(depth: number): Piece {
    if (depth <= 0)
      return scalar(this.#dice.pick([...NUMBERS, ...NUMBERS, 'time()', 'pi()', '5m']));
    const next = depth - 1;
    return this.#dice.weighted<Piece>([
      [3, () => this.scalar(0)],
      [3, () => scalar('scalar(', this.vector(next), ')')],
      [2, () => this.#scalarOperation(next)],
      [0.5, () => scalar('-', this.scalar(next))],
      [0.5, () => scalar('(', this.scalar(next), ')')],
    ]);
  }

  matrix(depth: number): Piece {
    const dice = this.#dice;
    const range = dice.pick(DURATIONS);
    if (depth <= 0 || dice.chance(0.65)) {
      return matrix(this.#plainSelector(), `[${range}]`, ...this.#modifiers());
    }
    const wide = dice.pick(['1m', '5m', '10m', '20m', '33s']);
    const step = dice.pick(SUBQUERY_STEPS);
    const inner = dice.chance(0.9) ? this.vector(depth - 1) : this.scalar(depth - 1);
    return matrix('(', inner, `)[${wide}:${step}]`, ...this.#modifiers());
  }

  string(): Piece {
    return { type: 'string', parts: [this.#dice.pick(['"a"', "'b\\n'", '`c\\d`', '"\\u00e9"'])] };
  }

  #selector(): Piece {
    return vector(this.#plainSelector(), ...this.#modifiers());
  }

  #plainSelector(): Piece {
    const dice = this.#dice;
    const name = dice.pick([...METRICS, ...METRICS, ...BUCKETS, 'gauge', 'cpu_total', 'nothing']);
    const matchers = this.#matchers();
    if (dice.chance(0.05))
      return vector(`{__name__=~"${dice.pick(['gauge|other', '.+', 'l.*'])}"}`);
    if (name === 'with.dots') return vector('{"with.dots"', { optional: `, ${matchers}` }, '}');
    return matchers === '' ? vector(name) : vector(name, { optional: `{${matchers}}` });
  }

  #matchers(): string {
    const dice = this.#dice;
    const matcher = () =>
      dice.pick([
        'job="api"',
        'job!="api"',
        'job="db"',
        'instance="a:1"',
        'instance=~"a.*|b:2"',
        'instance!~"c.+"',
        'zone=""',
        'zone!=""',
        'zone=~"n.*|"',
        'instance=~"(?i)A:1"',
        'nope=~".*"',
        'le="+Inf"',
        'job=~"api|db"',
      ]);
    if (dice.chance(0.6)) return '';
    return dice.chance(0.7) ? matcher() : `${matcher()}, ${matcher()}`;
  }

  #modifiers(): Part[] {
    const dice = this.#dice;
    const parts: Part[] = [];
    if (dice.chance(0.12)) parts.push({ optional: ` offset ${this.#offset()}` });
    if (dice.chance(0.08)) {
      const atMs = DATA_START_MS + dice.between(-60_000, DATA_MS + 60_000);
      const at = dice.pick(['start()', 'end()', String(atMs / 1000), String(atMs / 1000)]);
      parts.push({ optional: ` @ ${at}` });
    }
    return dice.chance(0.5) ? parts : parts.reverse();
  }

  #offset(): string {
    return this.#dice.pick(['1m', '5m', '30s', '-1m', '-45s', '7s', '1h', '100ms']);
  }

  #aggregate(depth: number): Piece {
    const dice = this.#dice;
    const grouping = this.#grouping();
    const inner = this.vector(depth);
    const param = dice.weighted<Part[]>([
      [8, () => [dice.pick(AGGREGATES), grouping, '(']],
      [2, () => [dice.pick(['topk', 'bottomk']), grouping, '(', this.#small(), ', ']],
      [1.5, () => ['quantile', grouping, '(', this.#ratio(), ', ']],
      [1, () => ['count_values', grouping, `("${dice.pick(['value', 'job', 'v.w'])}", `]],
    ]);
    return vector(...param, inner, ')');
  }

  #grouping(): Part {
    const dice = this.#dice;
    if (dice.chance(0.3)) return '';
    const labels = this.#labels(0.3);
    return { optional: ` ${dice.pick(['by', 'by', 'without'])} (${labels.join(', ')}) ` };
  }

  #labels(probability: number): string[] {
    return this.#dice.some(LABELS, probability);
  }

  /** A count, mostly a sensible one. */
  #small(): Piece {
    const dice = this.#dice;
    if (dice.chance(0.1)) return this.scalar(1);
    return scalar(dice.pick(['1', '2', '3', '0', '-1', '2.7', '100']));
  }

  #ratio(): Piece {
    const dice = this.#dice;
    if (dice.chance(0.1)) return this.scalar(1);
    return scalar(dice.pick(['0.5', '0.9', '0.99', '0', '1', '0.25', '-0.1', '1.5', 'NaN']));
  }

  #vectorWithVector(depth: number): Piece {
    const dice = this.#dice;
    const comparison = dice.chance(0.35);
    const operator = dice.pick(comparison ? COMPARISON : ARITHMETIC);
    const bool = comparison && dice.chance(0.4) ? ' bool' : '';
    const matching = this.#matching();
    const [left, right] = this.#sides(depth);
    return this.#operation('vector', left, [` ${operator}`, bool, matching, ' '], right);
  }

  /** Two vectors that often match: the same series, or each with its instance's row. */
  #sides(depth: number): [Piece, Piece] {
    const dice = this.#dice;
    if (dice.chance(0.5)) return [this.vector(depth), this.vector(depth)];
    const names = ['gauge', 'other', 'cpu_total', 'sparse'];
    return [vector(dice.pick(names)), vector(dice.pick(names))];
  }

  #matching(): Part {
    const dice = this.#dice;
    if (dice.chance(0.4)) return '';
    const on = dice.chance(0.7);
    const labels = on
      ? dice.pick([
          ['job', 'instance'],
          ['instance'],
          ['job'],
          [],
          ['instance', 'zone'],
          this.#labels(0.3),
        ])
      : dice.pick([['zone'], ['version', 'job'], [], this.#labels(0.3)]);
    const group = dice.chance(0.4)
      ? ` ${dice.pick(['group_left', 'group_right'])}${dice.pick(['', '()', '(version)', '(zone)', '(nope)'])}`
      : '';
    return { optional: ` ${on ? 'on' : 'ignoring'} (${labels.join(', ')})${group}` };
  }

  #vectorWithScalar(depth: number): Piece {
    const dice = this.#dice;
    const comparison = dice.chance(0.4);
    const operator = dice.pick(comparison ? COMPARISON : ARITHMETIC);
    const bool: Part = comparison && dice.chance(0.4) ? ' bool' : '';
    const sides = [this.vector(depth), this.scalar(dice.between(0, Math.min(1, depth)))] as const;
    const [left, right] = dice.chance(0.5) ? sides : [sides[1], sides[0]];
    return this.#operation('vector', left, [` ${operator}`, bool, ' '], right);
  }

  #setOperation(depth: number): Piece {
    const dice = this.#dice;
    const on = dice.chance(0.5)
      ? { optional: ` ${dice.pick(['on', 'ignoring'])} (${this.#labels(0.3).join(', ')})` }
      : '';
    const operator = [` ${dice.pick(SET_OPERATORS)}`, on, ' '];
    return this.#operation('vector', this.vector(depth), operator, this.vector(depth));
  }

  #scalarOperation(depth: number): Piece {
    const dice = this.#dice;
    const comparison = dice.chance(0.3);
    const operator = comparison ? `${dice.pick(COMPARISON)} bool` : dice.pick(ARITHMETIC);
    return this.#operation('scalar', this.scalar(depth), [` ${operator} `], this.scalar(depth));
  }

  #operation(type: 'vector' | 'scalar', left: Piece, between: Part[], right: Piece): Piece {
    const dice = this.#dice;
    const side = (piece: Piece): Part[] => (dice.chance(0.7) ? ['(', piece, ')'] : [piece]);
    return { type, parts: [...side(left), ...between, ...side(right)] };
  }

  #vectorFunction(depth: number): Piece {
    const name = this.#dice.pick(VECTOR_FUNCTIONS);
    const takesScalar = functionSignatures.get(name)?.args.length === 2;
    const argument = takesScalar ? [', ', this.scalar(this.#dice.between(0, 1))] : [];
    return vector(`${name}(`, this.vector(depth), ...argument, ')');
  }

  #rangeFunction(depth: number): Piece {
    const dice = this.#dice;
    const range = this.matrix(depth);
    return dice.weighted<Piece>([
      [
        4,
        () => vector(`${dice.pick(['rate', 'increase', 'delta', 'irate', 'idelta'])}(`, range, ')'),
      ],
      [8, () => vector(`${dice.pick(MATRIX_FUNCTIONS)}(`, range, ')')],
      [1.5, () => vector('quantile_over_time(', this.#ratio(), ', ', range, ')')],
      [1, () => vector('predict_linear(', range, ', ', this.scalar(0), ')')],
    ]);
  }

  #relabelled(depth: number): Piece {
    const dice = this.#dice;
    const target = dice.pick(['job', 'new', '__name__', 'zone', 'a.b']);
    if (dice.chance(0.5)) {
      const sources = this.#labels(0.3).map((label) => `, "${label}"`);
      return vector('label_join(', this.vector(depth), `, "${target}", "-"${sources.join('')})`);
    }
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a group as Go writes it
    const replacement = dice.pick(['$1', 'x-$1', '$1-$2', '', 'plain', '${1}y', '$name', '$$']);
    const pattern = dice.pick(['(.*)', '(.):(.)', 'a.*', '', '(?P<name>.).*', '.+']);
    const source = dice.pick(LABELS);
    const texts = `, "${target}", "${replacement}", "${source}", "${pattern}")`;
    return vector('label_replace(', this.vector(depth), texts);
  }

  #histogram(depth: number): Piece {
    const dice = this.#dice;
    const bucket = dice.pick([...BUCKETS, 'latency_bucket']);
    const buckets = dice.weighted<Piece>([
      [2, () => vector(bucket)],
      [3, () => vector(`rate(${bucket}[`, dice.pick(DURATIONS), '])')],
      [2, () => vector(`sum by (le${dice.pick(['', ', instance'])}) (`, vector(bucket), ')')],
      [1, () => this.vector(depth)],
    ]);
    if (dice.chance(0.7)) return vector('histogram_quantile(', this.#ratio(), ', ', buckets, ')');
    const [lower, upper] = [
      dice.pick(['0', '0.2', '-Inf', '1']),
      dice.pick(['0.7', '1', 'Inf', '0']),
    ];
    return vector(`histogram_fraction(${lower}, ${upper}, `, buckets, ')');
  }

  #oddFunction(depth: number): Piece {
    const dice = this.#dice;
    return dice.weighted<Piece>([
      [1, () => vector('vector(', this.scalar(depth), ')')],
      [
        1,
        () => vector('clamp(', this.vector(depth), ', ', this.scalar(0), ', ', this.scalar(0), ')'),
      ],
      [1, () => vector('round(', this.vector(depth), ')')],
      [1, () => vector(`${dice.pick(['hour', 'minute', 'day_of_year', 'month', 'year'])}()`)],
      [1, () => vector('timestamp(', this.#selector(), ')')],
      [1, () => vector('absent(', this.#selector(), ')')],
    ]);
  }
}

function vector(...parts: Part[]): Piece {
  return { type: 'vector', parts };
}

function scalar(...parts: Part[]): Piece {
  return { type: 'scalar', parts };
}

function matrix(...parts: Part[]): Piece {
  return { type: 'matrix', parts };
}
