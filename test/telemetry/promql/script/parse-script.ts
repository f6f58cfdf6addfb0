/**
 * Parses the text of a `.test` script into commands. A blank line (or a comment, which counts as
 * blank) ends a command; the lines under `load` and `eval` belong to it. Source: the description of
 * the format in Prometheus, `promql/promqltest/README.md`, including old forms such as `eval_fail`.
 */
import { parseDuration, parseNumber, parseSeriesLine, unquote } from './notation.ts';
import {
  type AnnotationExpectation,
  type Command,
  type Eval,
  type EvalTimes,
  type Load,
  ScriptError,
  type SeriesLine,
  type TextExpectation,
} from './script.ts';

interface Line {
  readonly number: number;
  readonly text: string;
}

/** Commands of a script. Throws `ScriptError` if it is invalid. */
export function parseScript(text: string): readonly Command[] {
  const lines = text.split('\n').map((line, index) => {
    const trimmed = line.trim();
    return { number: index + 1, text: trimmed.startsWith('#') ? '' : trimmed };
  });
  const commands: Command[] = [];
  for (let at = 0; at < lines.length; ) {
    const end = lines.findIndex((line, index) => index >= at && line.text === '');
    const block = lines.slice(at, end === -1 ? lines.length : end);
    const taken = block.length === 0 ? 1 : parseCommand(block, commands);
    at += taken;
  }
  return commands;
}

/** Reads one command from the beginning of a block. Returns its number of lines. */
function parseCommand(block: readonly Line[], commands: Command[]): number {
  const [head = { number: 0, text: '' }, ...under] = block;
  try {
    if (head.text === 'clear') {
      commands.push({ kind: 'clear', line: head.number });
      return 1;
    }
    if (/^load\b/.test(head.text)) commands.push(parseLoad(head, under));
    else if (/^eval/.test(head.text)) commands.push(parseEval(head, under));
    else throw new Error(`"${head.text}" is not a command`);
  } catch (error) {
    if (error instanceof ScriptError || !(error instanceof Error)) throw error;
    throw new ScriptError(head.number, error.message);
  }
  return block.length;
}

function parseLoad(head: Line, under: readonly Line[]): Load {
  const step = /^load\s+(\S+)$/.exec(head.text)?.[1];
  if (step === undefined) throw new Error(`"${head.text}" is not "load STEP"`);
  const series = under.map(located(parseSeriesLine));
  return { kind: 'load', line: head.number, stepMs: parseDuration(step), series };
}

/** Adds the line to errors of `parse`. */
function located<T>(parse: (text: string) => T): (line: Line) => T {
  return (line) => {
    try {
      return parse(line.text);
    } catch (error) {
      throw new ScriptError(line.number, error instanceof Error ? error.message : String(error));
    }
  };
}

const INSTANT = /^eval(?:_(fail|warn|ordered|info))?\s+instant\s+at\s+(\S+)\s+(.+)$/;
const RANGE =
  /^eval(?:_(fail|warn|info))?\s+range\s+from\s+(\S+)\s+to\s+(\S+)\s+step\s+(\S+)\s+(.+)$/;

/** Combined expectations of the lines under an `eval`. */
interface Expectations {
  readonly series: SeriesLine[];
  readonly fail: TextExpectation[];
  readonly warn: TextExpectation[];
  readonly info: TextExpectation[];
  readonly flags: Set<string>;
  times: EvalTimes | null;
  scalar: number | null;
  string: string | null;
}

function parseEval(head: Line, under: readonly Line[]): Eval {
  const { mode, form, times, expression } = parseEvalHead(head.text);
  const expected: Expectations = {
    series: [],
    fail: [],
    warn: [],
    info: [],
    flags: new Set(form === undefined ? [] : [form]),
    times: null,
    scalar: null,
    string: null,
  };
  for (const line of under) located((text: string) => parseExpectation(text, expected))(line);
  const { flags } = expected;
  const end = expected.times?.endMs;
  return {
    kind: 'eval',
    line: head.number,
    mode,
    times: end === undefined ? times : { ...times, startMs: end, endMs: end },
    expression,
    result: resultOf(expected),
    ordered: flags.has('ordered'),
    fail: flags.has('fail') ? expected.fail : null,
    warnings: annotationsOf('warn', expected.warn, flags),
    infos: annotationsOf('info', expected.info, flags),
  };
}

function parseEvalHead(text: string) {
  const instant = INSTANT.exec(text);
  if (instant !== null) {
    const [, form, at = '', expression = ''] = instant;
    const timeMs = parseDuration(at);
    const times = { startMs: timeMs, endMs: timeMs, stepMs: 0 };
    return { mode: 'instant' as const, form, times, expression };
  }
  const range = RANGE.exec(text);
  if (range === null) throw new Error(`"${text}" is not an eval`);
  const [, form, from = '', to = '', step = '', expression = ''] = range;
  return { mode: 'range' as const, form, times: parseTimes(from, to, step), expression };
}

function parseTimes(from: string, to: string, step: string): EvalTimes {
  return {
    startMs: parseDuration(from),
    endMs: parseDuration(to),
    stepMs: parseDuration(step),
  };
}

const EXPECT = /^expect\s+(fail|warn|info|no_warn|no_info|ordered)(?:\s+(msg|regex):(.+))?$/;
const EXPECT_RANGE = /^expect\s+range\s+vector\s+from\s+(\S+)\s+to\s+(\S+)\s+step\s+(\S+)$/;
const EXPECT_STRING = /^expect\s+string\s+(.+)$/;
/** The form that preceded `expect fail msg:`. */
const EXPECTED_FAIL = /^expected_fail_(message|regexp)\s+(.+)$/;

function parseExpectation(text: string, expected: Expectations): void {
  const oldFail = EXPECTED_FAIL.exec(text);
  if (oldFail !== null) {
    const [, kind, reported = ''] = oldFail;
    expected.fail.push(textExpectation(kind === 'message' ? 'msg' : 'regex', reported));
  } else if (/^expect\s/.test(text)) {
    parseExpectLine(text, expected);
  } else {
    const scalar = parseNumber(text);
    if (scalar === undefined) expected.series.push(parseSeriesLine(text));
    else expected.scalar = scalar;
  }
}

function parseExpectLine(text: string, expected: Expectations): void {
  const times = EXPECT_RANGE.exec(text);
  const string = EXPECT_STRING.exec(text);
  const other = EXPECT.exec(text);
  if (times !== null) {
    const [, from = '', to = '', step = ''] = times;
    expected.times = parseTimes(from, to, step);
  } else if (string !== null) {
    expected.string = unquote(string[1] ?? '');
  } else if (other !== null) {
    const [, kind = '', form, reported = ''] = other;
    expected.flags.add(kind);
    if (kind === 'fail' || kind === 'warn' || kind === 'info') {
      // `expect fail` alone accepts any error; `expect warn` alone needs at least one warning.
      if (form !== undefined || kind !== 'fail')
        expected[kind].push(textExpectation(form, reported));
    }
  } else {
    throw new Error(`"${text}" is not an expectation`);
  }
}

function textExpectation(form: string | undefined, reported: string): TextExpectation {
  if (form === undefined) return { kind: 'any' };
  if (form === 'msg') return { kind: 'equal', text: reported.trim() };
  return { kind: 'match', pattern: reported.trim() };
}

function resultOf({ series, times, scalar, string }: Expectations): Eval['result'] {
  if (times !== null) return { kind: 'range vector', series, times };
  if (string !== null) return { kind: 'string', value: string };
  if (scalar !== null) return { kind: 'scalar', value: scalar };
  return { kind: 'series', series };
}

function annotationsOf(
  kind: 'warn' | 'info',
  reported: readonly TextExpectation[],
  flags: ReadonlySet<string>,
): AnnotationExpectation {
  if (flags.has(`no_${kind}`)) return 'none';
  // `eval_warn` and `eval_info` accept any text.
  if (reported.length === 0 && flags.has(kind)) return [{ kind: 'any' }];
  return reported.length === 0 ? 'unchecked' : reported;
}
