/**
 * Addresses as they may be shown: in errors, logs, health and help. An address may carry a password
 * before its `@` and a token in its query, and who reads a log is not who may use either.
 */

const HIDDEN = '[redacted]';

/**
 * The address, or list of addresses, without user name, password, query and fragment. Also of text
 * that is no address: then nothing before its last `@` is shown, since that may be a password with
 * characters that a parser takes for something else.
 */
export function shownUrl(value: string): string {
  const [, scheme = '', rest = ''] = /^([a-z][a-z0-9+.-]*:\/\/)?(.*)$/is.exec(value) ?? [];
  const hidden = isPlainWebAddress(value) ? 0 : rest.lastIndexOf('@') + 1;
  const shown = rest.slice(hidden).replace(/[?#].+$/s, `?${HIDDEN}`);
  return `${scheme}${hidden > 0 ? `${HIDDEN}@` : ''}${shown}`;
}

/** A web address whose `@`, if it has one, is in its path, and names nobody. */
function isPlainWebAddress(value: string): boolean {
  if (!/^https?:\/\//i.test(value) || !URL.canParse(value)) return false;
  const { username, password } = new URL(value);
  return username === '' && password === '';
}

// Bounded: without it a long text of nothing but beginnings of addresses takes its length squared.
const LOGIN = /([a-z][a-z0-9+.-]{0,30}:\/\/)([^\s"'<>\\]{0,1000}@)/gi;

/** A text of our own or of a library, with the addresses in it as far as `shownUrl` shows them. */
export function withoutLogins(text: string): string {
  // Most texts have no `@`, and the search for logins is the slowest of all that a log line passes.
  if (!text.includes('@')) return text;
  return text.replaceAll(LOGIN, (whole, scheme: string, rest: string) => {
    // A path, a query or a second address follows a plain authority: that `@` is no login's.
    const isPlain =
      /^https?:/i.test(scheme) && /^(\[[0-9a-f:.]+\]|[\w.-]+)(:\d*)?[/?#,;]/i.test(rest);
    return isPlain ? whole : `${scheme}${HIDDEN}@`;
  });
}
