/**
 * How far a number or a duration reaches, by the rules of Prometheus 3.5 (`promql/parser/lex.go`).
 * A number that turns out to be none (`5m`) is read on as a duration from where it failed.
 */
export interface Scanned {
  readonly ok: boolean;
  /** Offset after the last character that was looked at and taken. */
  readonly to: number;
}

const DECIMAL = /[0-9]/;
const HEXADECIMAL = /[0-9a-fA-F]/;

export function scanNumber(text: string, from: number): Scanned {
  let at = from;
  let digits = DECIMAL;
  const accept = (pattern: RegExp) => {
    if (!pattern.test(text.charAt(at))) return false;
    at++;
    return true;
  };
  if (accept(/0/) && accept(/[xX]/)) {
    accept(/_/);
    digits = HEXADECIMAL;
  }
  accept(/\./);
  accept(digits);
  let sawDot = false;
  let sawExponent = false;
  for (;;) {
    if (accept(/\./)) {
      if (sawDot || accept(/[_.]/) || digits === HEXADECIMAL) return { ok: false, to: at };
      sawDot = true;
    } else if (accept(/[eE]/)) {
      if (sawExponent) return { ok: false, to: at };
      sawExponent = true;
      accept(/[+-]/);
      if (accept(/[._eE]/) || at >= text.length) return { ok: false, to: at };
    } else if (accept(/_/)) {
      if (accept(/[._eE]/) || at >= text.length) return { ok: false, to: at };
    } else if (accept(digits)) {
      // The rest of a run, in which `e` is a hexadecimal digit.
      while (accept(digits));
    } else break;
  }
  return { ok: !/\w/.test(text.charAt(at)), to: at };
}

/** The rest of a duration whose first digits were read. Units in a wrong order are told later. */
export function scanDuration(text: string, from: number): Scanned {
  const match = /[smhdwy]s?(?:[0-9]+[smhdw]s?)*/y;
  match.lastIndex = from;
  const taken = match.exec(text)?.[0].length ?? 0;
  const to = from + taken;
  if (taken === 0) return { ok: false, to };
  return /\w/.test(text.charAt(to)) ? { ok: false, to: to + 1 } : { ok: true, to };
}
