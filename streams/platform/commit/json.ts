/**
 * Values allowed in a commit: those that JSON returns unchanged. `JSON.stringify` alone would turn
 * NaN into null, a Date into text and a Map into {}; an absent value must not become another one on
 * its way through the log.
 */

/** Nesting beyond this is a cycle or a mistake. */
const DEPTH_MAX = 64;

/**
 * Throws a TypeError that names the first property whose value JSON would change. An `undefined`
 * property is absent, as in JSON; in an array it is refused.
 *
 * @returns whether there is such a property: reading the JSON back gives a value without it
 */
export function assertJson(value: unknown, name: string, depth = 0): boolean {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return false;
  if (typeof value === 'number') {
    if (Number.isFinite(value)) return false;
    throw new TypeError(`${name} is ${value}, which JSON cannot hold`);
  }
  if (typeof value !== 'object') throw new TypeError(`${name} is a ${typeof value}, not JSON`);
  if (depth > DEPTH_MAX) throw new TypeError(`${name} is nested more than ${DEPTH_MAX} deep`);
  let hasAbsent = false;
  if (Array.isArray(value)) {
    for (const entry of value) hasAbsent = assertJson(entry, name, depth + 1) || hasAbsent;
    return hasAbsent;
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) {
    throw new TypeError(`${name} is a ${value.constructor.name}, not a plain object`);
  }
  // Plain objects inherit nothing enumerable.
  for (const key in value) {
    const entry = (value as Readonly<Record<string, unknown>>)[key];
    if (entry === undefined) hasAbsent = true;
    else hasAbsent = assertJson(entry, key, depth + 1) || hasAbsent;
  }
  return hasAbsent;
}
