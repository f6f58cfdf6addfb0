/**
 * The path and query of a URL, as the request line sends them: byte for byte where possible,
 * because a Teams workflow signs its address, and the URL parser would resolve dots and encode
 * again.
 */

/** Path and query as written; normalized by the parser when the text holds other characters. */
export function requestTarget(text: string): string {
  // The parser takes a backslash for a slash, so text with one is not cut as written.
  const written = /^https?:\/\/[^/?#]+([^#]*)/i.exec(text);
  const plain = /^[\x21-\x5b\x5d-\x7e]+$/.test(text);
  const { pathname, search } = new URL(text);
  if (!plain || written?.[1] === undefined) return pathname + search;
  return written[1].startsWith('/') ? written[1] : `/${written[1]}`;
}
