/**
 * A label's name in a path: as it is, or, where it holds what a path cannot, in Prometheus's
 * escaping of values (`common/model`): `U__a_2e_b` is `a.b`, `__` an underscore.
 */

const ESCAPED = /^U__((?:[^_]|__|_[0-9a-fA-F]{1,6}_)*)$/;
const ESCAPES = /__|_([0-9a-fA-F]{1,6})_/g;
const CODE_POINT_MAX = 0x10ffff;

/** What does not follow the escaping stands for itself. */
export function unescapeLabelName(name: string): string {
  const escaped = ESCAPED.exec(name)?.[1];
  if (escaped === undefined) return name;
  const codes = [...escaped.matchAll(ESCAPES)].map(([, code]) => Number.parseInt(code ?? '5f', 16));
  if (!codes.every(isCharacter)) return name;
  return escaped.replaceAll(ESCAPES, (_, code: string | undefined) =>
    String.fromCodePoint(Number.parseInt(code ?? '5f', 16)),
  );
}

/** Half a surrogate pair is no character. */
function isCharacter(code: number): boolean {
  return code <= CODE_POINT_MAX && (code < 0xd800 || code > 0xdfff);
}
