/**
 * JSON of a token, read strictly: an object, of bounded depth, no name twice in one object. A
 * parser keeps the last of two equal names and a careless checker sees the first; refusing both
 * leaves nothing to disagree about (RFC 7519, section 4 allows it).
 */

/** Deepest nesting of what platforms issue is 3 (an array of objects in the payload). */
const DEPTH_MAX = 8;

/** The object in `text`; undefined when it is none, too deep, or has a name twice. */
export function parseStrictObject(text: string): Readonly<Record<string, unknown>> | undefined {
  if (!isShallow(text)) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  if (hasNameTwice(text)) return undefined;
  return value as Readonly<Record<string, unknown>>;
}

/** Counts brackets outside strings: works on any text, before a parser meets it. */
function isShallow(text: string): boolean {
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    switch (text[i]) {
      case '"':
        i = endOfString(text, i);
        break;
      case '{':
      case '[':
        if (++depth > DEPTH_MAX) return false;
        break;
      case '}':
      case ']':
        depth--;
        break;
    }
  }
  return true;
}

/** Of JSON that parses: a string followed by a colon is a name of the innermost object. */
function hasNameTwice(text: string): boolean {
  const open: Set<string>[] = [];
  for (let i = 0; i < text.length; i++) {
    switch (text[i]) {
      case '"': {
        const end = endOfString(text, i);
        if (isFollowedByColon(text, end)) {
          const names = open.at(-1);
          // Escapes are undone, so that "a" and "\u0061" are one name.
          const name = String(JSON.parse(text.slice(i, end + 1)));
          if (names?.has(name)) return true;
          names?.add(name);
        }
        i = end;
        break;
      }
      case '{':
      case '[':
        open.push(new Set());
        break;
      case '}':
      case ']':
        open.pop();
        break;
    }
  }
  return false;
}

function isFollowedByColon(text: string, end: number): boolean {
  let i = end + 1;
  while (' \t\n\r'.includes(text[i] ?? 'x')) i++;
  return text[i] === ':';
}

/** Index of the quote that ends the string which begins at `start`; the text's end without one. */
function endOfString(text: string, start: number): number {
  for (let i = start + 1; i < text.length; i++) {
    if (text[i] === '\\') i++;
    else if (text[i] === '"') return i;
  }
  return text.length;
}
