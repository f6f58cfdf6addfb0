/**
 * Prometheus's message for a misplaced token. For the few constructs with error rules
 * (`promql/parser/generated_parser.y`) it names the construct and the expected token; the innermost
 * one that is still open decides.
 */
import { type PromqlError, parseError } from '../errors.ts';
import { goQuote } from '../format-go.ts';
import { EXPERIMENTAL_FUNCTIONS, functionSignatures } from '../functions/signatures.ts';
import { LABEL_LISTS } from './canonical.ts';
import { describeToken, type Token } from './token.ts';

interface Misplaced {
  readonly tokens: readonly Token[];
  /** Canonical words of the tokens. */
  readonly words: readonly string[];
  /** Index of the misplaced token. */
  readonly index: number;
}

/**
 * Returns the error for the misplaced token, with the text and position of Prometheus 3.5. Does not
 * throw it.
 */
export function syntaxError(text: string, misplaced: Misplaced): PromqlError {
  const { tokens, words, index } = misplaced;
  const token = tokens[index];
  const before = tokens[index - 1];
  if (token === undefined) throw new Error('No token is misplaced');
  const frames = framesBefore(misplaced);
  if (before?.word === ',' && ['call', 'aggregation'].includes(frames.at(-1)?.kind ?? '')) {
    return parseError(text, before, 'trailing commas not allowed in function call args');
  }
  const message = `unexpected ${describeToken(token)}${contextOf(frames, words, index)}`;
  return parseError(text, token, message);
}

/**
 * The first complete call before `index` of a function that does not exist: it is reported before
 * anything after it. null if there is none.
 */
export function unknownFunction(
  text: string,
  tokens: readonly Token[],
  index: number,
): PromqlError | null {
  const open: (Token | undefined)[] = [];
  for (let i = 0; i < index; i++) {
    const { word } = tokens[i] as Token;
    if (word === '(') open.push(tokens[i - 1]);
    const name = word === ')' ? open.pop() : undefined;
    if (name?.kind !== 'identifier' || functionSignatures.has(name.text)) continue;
    return functionError(text, name);
  }
  return null;
}

/** The error for an unknown function, or one behind a feature flag. */
export function functionError(text: string, name: Token): PromqlError {
  const quoted = goQuote(name.text);
  const isExperimental = EXPERIMENTAL_FUNCTIONS.has(name.text);
  const message = isExperimental
    ? `function ${quoted} is not enabled`
    : `unknown function with name ${quoted}`;
  return parseError(text, name, message);
}

/** An open bracket, or the whole expression. */
interface Frame {
  readonly kind:
    | 'expression'
    | 'call'
    | 'aggregation'
    | 'labels'
    | 'offset'
    | 'time'
    | 'braces'
    | 'brackets';
  /** Index after the bracket. */
  readonly from: number;
  /** True after an aggregator, until its parenthesis opens. */
  awaitsBody: boolean;
}

const BRACKETS: Readonly<Record<string, Frame['kind']>> = { '{': 'braces', '[': 'brackets' };

function framesBefore({ tokens, words, index }: Misplaced): Frame[] {
  const frames: Frame[] = [{ kind: 'expression', from: 0, awaitsBody: false }];
  for (let i = 0; i < index; i++) {
    const word = words[i] ?? '';
    const current = frames.at(-1) as Frame;
    const isAggregator = tokens[i]?.kind === 'aggregator' && current.kind !== 'labels';
    if (isAggregator && ['(', 'by', 'without'].includes(words[i + 1] ?? '')) {
      current.awaitsBody = true;
    } else if (word === '(') {
      frames.push({ kind: parenthesisKind(current, words, i), from: i + 1, awaitsBody: false });
    } else if (word === '{' || word === '[') {
      frames.push({ kind: BRACKETS[word] ?? 'braces', from: i + 1, awaitsBody: false });
    } else if (')}]'.includes(word)) frames.pop();
  }
  return frames;
}

function parenthesisKind(current: Frame, words: readonly string[], at: number): Frame['kind'] {
  const before = words[at - 1] ?? '';
  if (LABEL_LISTS.has(before)) return 'labels';
  if (current.awaitsBody) {
    current.awaitsBody = false;
    return 'aggregation';
  }
  const modifier = modifierBefore(words, at);
  if (modifier !== undefined) return modifier;
  return before === 'abs' ? 'call' : 'expression';
}

/** The modifier that still lacks its duration or time. */
function modifierBefore(words: readonly string[], at: number): 'offset' | 'time' | undefined {
  let i = at - 1;
  while (['+', '-', '(', 'start', 'end'].includes(words[i] ?? '')) i--;
  if (words[i] === '@') return 'time';
  return words[i] === 'offset' ? 'offset' : undefined;
}

function contextOf(frames: readonly Frame[], words: readonly string[], index: number): string {
  const before = words[index - 1] ?? '';
  const current = frames.at(-1);
  if (current?.kind === 'braces') return ` in label matching, expected ${inBraces(words, index)}`;
  if (current?.kind === 'labels') {
    const wanted = before === '(' || before === ',' ? 'label' : '"," or ")"';
    return ` in grouping opts, expected ${wanted}`;
  }
  if (LABEL_LISTS.has(before)) return ' in grouping opts, expected "("';
  const modifier = modifierBefore(words, index);
  if (modifier !== undefined) return CONTEXTS[modifier];
  for (let i = frames.length - 1; i >= 0; i--) {
    const frame = frames[i] as Frame;
    if (frame.awaitsBody || frame.kind === 'aggregation') return ' in aggregation';
    if (frame.kind === 'brackets') return inBrackets(words.slice(frame.from, index));
    if (frame.kind === 'offset' || frame.kind === 'time') return CONTEXTS[frame.kind];
  }
  return '';
}

const CONTEXTS = {
  offset: ' in offset, expected number or duration',
  time: ' in @, expected timestamp',
};

function inBraces(words: readonly string[], index: number): string {
  const before = words[index - 1] ?? '';
  if (before === '{' || before === ',') return 'identifier or "}"';
  if (before === 'm') return 'label matching operator';
  return before === '""' ? '"," or "}"' : 'string';
}

function inBrackets(inside: readonly string[]): string {
  const colon = inside.indexOf(':');
  const depth = inside.filter((word) => word === '(').length;
  const isClosed = depth === inside.filter((word) => word === ')').length;
  const isWhole = isClosed && ['1', ')'].includes(inside.at(-1) ?? '');
  if (colon === -1) {
    return isWhole
      ? ' in subquery or range, expected ":" or "]"'
      : ' in subquery selector, expected number or duration';
  }
  const wanted = isWhole ? '"]"' : 'number or duration or "]"';
  return ` in subquery selector, expected ${wanted}`;
}
