/**
 * What of a URL is sent in the request line. A Teams workflow signs its address, so that it has to
 * arrive byte for byte; the URL parser resolves dots and encodes anew.
 */

/** Path and query as they stand in the text; as the parser has them where the text holds others. */
export function requestTarget(text: string): string {
  // Printable ASCII without a backslash, which the parser takes for a slash, is cut as it stands.
  const written = /^https?:\/\/[^/?#]+([^#]*)/i.exec(text);
  const plain = /^[\x21-\x5b\x5d-\x7e]+$/.test(text);
  const { pathname, search } = new URL(text);
  if (!plain || written?.[1] === undefined) return pathname + search;
  return written[1].startsWith('/') ? written[1] : `/${written[1]}`;
}
