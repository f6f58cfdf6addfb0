/**
 * Addresses as they may be shown in errors, logs, health and help. An address may carry a password
 * before its `@` and a token in its query, and readers of a log may not be entitled to either.
 */

const HIDDEN = '[redacted]';

/**
 * The address, or list of addresses, without user name, password, query and fragment. In text that
 * is not an address, nothing before the last `@` is shown, since it may be a password with
 * characters that a parser misreads.
 */
export function redactedUrl(value: string): string {
  const [, scheme = '', rest = ''] = /^([a-z][a-z0-9+.-]*:\/\/)?(.*)$/is.exec(value) ?? [];
  const hidden = isPlainWebAddress(value) ? 0 : rest.lastIndexOf('@') + 1;
  const displayed = rest.slice(hidden).replace(/[?#].+$/s, `?${HIDDEN}`);
  return `${scheme}${hidden > 0 ? `${HIDDEN}@` : ''}${displayed}`;
}

/** A web address without an `@`, or with one in its path that belongs to no login. */
function isPlainWebAddress(value: string): boolean {
  if (!/^https?:\/\//i.test(value) || !URL.canParse(value)) return false;
  const { username, password } = new URL(value);
  return username === '' && password === '';
}

// Bounded: otherwise a long text that consists only of beginnings of addresses takes quadratic
// time.
const LOGIN = /([a-z][a-z0-9+.-]{0,30}:\/\/)([^\s"'<>\\]{0,1000}@)/gi;

/** A text of ours or of a library, with each address in it reduced as by `redactedUrl`. */
export function withoutLogins(text: string): string {
  // Most texts have no `@`, and the search for logins is the slowest step for a log line.
  if (!text.includes('@')) return text;
  return text.replaceAll(LOGIN, (whole, scheme: string, rest: string) => {
    // A path, a query or a second address follows a plain authority: that `@` belongs to no login.
    const isPlain =
      /^https?:/i.test(scheme) && /^(\[[0-9a-f:.]+\]|[\w.-]+)(:\d*)?[/?#,;]/i.test(rest);
    return isPlain ? whole : `${scheme}${HIDDEN}@`;
  });
}
