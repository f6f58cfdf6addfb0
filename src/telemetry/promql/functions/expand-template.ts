/**
 * The replacement text of label_replace, in the notation of Go's `regexp.Expand`: `$1`, `${1}`,
 * `$name`, `${name}`, `$$`. What is no reference stands for itself.
 */
import type { Matcher } from 're2js';

/** `$name` reaches as far as it can: `$1x` is the group called `1x`. */
const REFERENCE = /\$(?:(\$)|([\p{L}\p{Nd}_]+)|\{([\p{L}\p{Nd}_]+)\})/gu;

/**
 * The text in pieces: a short template can ask for a long group a thousand times. A group that is
 * not there, or took no part in the match, is empty text.
 */
export function* expandTemplate(template: string, matcher: Matcher): Generator<string> {
  let end = 0;
  for (const reference of template.matchAll(REFERENCE)) {
    const [whole, dollar, bare, braced] = reference;
    yield template.slice(end, reference.index);
    yield dollar === undefined ? groupOf(matcher, bare ?? braced ?? '') : '$';
    end = reference.index + whole.length;
  }
  yield template.slice(end);
}

function groupOf(matcher: Matcher, name: string): string {
  if (/^(0|[1-9][0-9]*)$/.test(name)) {
    const index = Number(name);
    return index <= matcher.groupCount() ? (matcher.group(index) ?? '') : '';
  }
  return Object.hasOwn(matcher.namedGroups, name) ? (matcher.group(name) ?? '') : '';
}
