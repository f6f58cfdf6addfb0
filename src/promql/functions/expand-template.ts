/**
 * The replacement text of label_replace, in the notation of Go's `regexp.Expand`: `$1`, `${1}`,
 * `$name`, `${name}`, `$$`. What is no reference stands for itself.
 */
import type { Matcher } from 're2js';

/** `$name` reaches as far as it can: `$1x` is the group called `1x`. */
const REFERENCE = /\$(?:(\$)|([\p{L}\p{Nd}_]+)|\{([\p{L}\p{Nd}_]+)\})/gu;

/** A group that is not there, or took no part in the match, is empty text. */
export function expandTemplate(template: string, matcher: Matcher): string {
  return template.replace(REFERENCE, (_, dollar?: string, bare?: string, braced?: string) => {
    if (dollar !== undefined) return '$';
    return groupOf(matcher, bare ?? braced ?? '');
  });
}

function groupOf(matcher: Matcher, name: string): string {
  if (/^(0|[1-9][0-9]*)$/.test(name)) {
    const index = Number(name);
    return index <= matcher.groupCount() ? (matcher.group(index) ?? '') : '';
  }
  return Object.hasOwn(matcher.namedGroups, name) ? (matcher.group(name) ?? '') : '';
}
