/**
 * Size of a regular expression before it is compiled. The compiler writes a repeated part out once
 * per repetition, and nested repetitions multiply, so a short pattern can take seconds and a
 * gigabyte to compile. Only the structure of the pattern is read, in time linear in its length.
 */

/** Expanded size of a pattern. */
export interface RegexpSize {
  /**
   * Instructions of the compiled program, an upper bound: the compiler merges alternatives with a
   * common prefix, so it may make fewer.
   */
  readonly instructions: number;
  /** Unicode classes (`\p{L}`) as written: each is copied from a table of hundreds of ranges. */
  readonly unicodeClasses: number;
}

/** Largest count that RE2 allows in `{n,m}`. The parser rejects larger ones. */
const COUNT_MAX = 1_000;
/** Every program begins with an instruction that fails, and ends with one that matches. */
const PROGRAM_FRAME = 2;
/** A group records where it starts and where it ends. */
const GROUP_FRAME = 2;

/**
 * Size of an RE2 pattern as the RE2 compiler expands it. Never throws. A pattern whose repetitions
 * are invalid has size 0, and the size of any other invalid pattern is meaningless: the parser
 * rejects the pattern before anything is expanded.
 */
export function regexpSize(pattern: string): RegexpSize {
  return new SizeReader(pattern).read();
}

/** One open group: its earlier alternatives, the current one, and its last piece. */
interface OpenGroup {
  alternatives: number;
  sequence: number;
  /** The piece that a repetition applies to; 0 = none. */
  piece: number;
  readonly frame: number;
}

/** A counted repetition; RE2 takes any other form literally, such as `{01}` and `{,3}`. */
const COUNTED = /\{(0|[1-9]\d*)(,(0|[1-9]\d*)?)?\}/y;
/** A named group, flags for the rest of the group, or a group with flags. */
const GROUP_OPENING = /\(\?(?:P?<[^>]*>|[imsU-]*(\)|:))/y;
/** `\Q` takes everything literally up to `\E`. */
const QUOTED = /\\Q(.*?)(?:\\E|$)/sy;
const UNICODE_CLASS = /\\[pP](?:\{[^}]*\}|.)/suy;
const ESCAPED = /\\(?:x\{[^}]*\}|.)/suy;
const POSIX_CLASS = /\[:\^?[a-z]+:\]/y;

class SizeReader {
  readonly #pattern: string;
  readonly #outer: OpenGroup[] = [];
  #group: OpenGroup = openGroup(0);
  #at = 0;
  #unicodeClasses = 0;
  /** End of the last repetition. */
  #repeatedAt = -1;
  #isInvalid = false;

  constructor(pattern: string) {
    this.#pattern = pattern;
  }

  read(): RegexpSize {
    while (this.#at < this.#pattern.length && !this.#isInvalid) this.#readPiece();
    while (this.#outer.length > 0) this.#close();
    const instructions = this.#isInvalid ? 0 : PROGRAM_FRAME + sizeOf(this.#group);
    return { instructions, unicodeClasses: this.#unicodeClasses };
  }

  #readPiece(): void {
    switch (this.#pattern[this.#at]) {
      case '(':
        this.#open();
        break;
      case ')':
        this.#at++;
        this.#close();
        break;
      case '|':
        this.#at++;
        this.#endAlternative();
        break;
      case '*':
      case '+':
      case '?':
        if (this.#repeatedAt === this.#at) this.#isInvalid = true;
        this.#at++;
        this.#repeat((size) => size + 2);
        break;
      case '{':
        this.#readCount();
        break;
      case '[':
        this.#skipClass();
        this.#add(1);
        break;
      case '\\':
        this.#readEscape();
        break;
      default:
        this.#skipCharacter();
        this.#add(1);
    }
  }

  #add(size: number): void {
    this.#group.sequence += this.#group.piece;
    this.#group.piece = size;
  }

  #endAlternative(): void {
    const group = this.#group;
    group.alternatives += sequenceOf(group) + 1;
    group.sequence = 0;
    group.piece = 0;
  }

  #open(): void {
    const opening = this.#take(GROUP_OPENING);
    if (opening === undefined) this.#at++;
    // `(?i)` opens no group.
    if (opening?.[1] === ')') return;
    this.#outer.push(this.#group);
    this.#group = openGroup(opening?.[1] === ':' ? 0 : GROUP_FRAME);
  }

  #close(): void {
    const outer = this.#outer.pop();
    if (outer === undefined) return;
    const size = sizeOf(this.#group);
    this.#group = outer;
    this.#add(size);
  }

  #readCount(): void {
    const isSecond = this.#repeatedAt === this.#at;
    const counted = this.#take(COUNTED);
    if (counted === undefined) {
      this.#at++;
      this.#add(1);
      return;
    }
    const least = Number(counted[1]);
    const hasNoEnd = counted[2] !== undefined && counted[3] === undefined;
    const most = Number(counted[3] ?? counted[1]);
    if (isSecond || Math.max(least, most) > COUNT_MAX) this.#isInvalid = true;
    this.#repeat((size) => {
      if (hasNoEnd) return Math.max(least, 1) * size + 2;
      return Math.max(1, most * size + Math.max(0, most - least));
    });
  }

  /** Changes the size of the last piece. A `?` after the operator requests the shortest match. */
  #repeat(change: (size: number) => number): void {
    if (this.#pattern[this.#at] === '?') this.#at++;
    this.#repeatedAt = this.#at;
    this.#group.piece = change(this.#group.piece);
  }

  #readEscape(): void {
    const quoted = this.#take(QUOTED)?.[1];
    if (quoted !== undefined) {
      for (const _ of quoted) this.#add(1);
      return;
    }
    if (!this.#skipUnicodeClass() && this.#take(ESCAPED) === undefined) this.#at++;
    this.#add(1);
  }

  /** Skips `[…]`; a leading `]` is a member of the class. */
  #skipClass(): void {
    this.#at++;
    if (this.#pattern[this.#at] === '^') this.#at++;
    for (let isFirst = true; this.#at < this.#pattern.length; isFirst = false) {
      const character = this.#pattern[this.#at];
      if (character === ']' && !isFirst) break;
      if (character === '[' && this.#take(POSIX_CLASS) !== undefined) continue;
      if (character === '\\') {
        if (!this.#skipUnicodeClass() && this.#take(ESCAPED) === undefined) this.#at++;
      } else this.#skipCharacter();
    }
    this.#at++;
  }

  #skipUnicodeClass(): boolean {
    const isOne = this.#take(UNICODE_CLASS) !== undefined;
    if (isOne) this.#unicodeClasses++;
    return isOne;
  }

  #skipCharacter(): void {
    this.#at += (this.#pattern.codePointAt(this.#at) ?? 0) > 0xffff ? 2 : 1;
  }

  #take(form: RegExp): RegExpExecArray | undefined {
    form.lastIndex = this.#at;
    const match = form.exec(this.#pattern);
    if (match === null) return undefined;
    this.#at += match[0].length;
    return match;
  }
}

function openGroup(frame: number): OpenGroup {
  return { alternatives: 0, sequence: 0, piece: 0, frame };
}

/** The empty sequence is one instruction. */
function sequenceOf({ sequence, piece }: OpenGroup): number {
  return Math.max(1, sequence + piece);
}

function sizeOf(group: OpenGroup): number {
  return group.alternatives + sequenceOf(group) + group.frame;
}
