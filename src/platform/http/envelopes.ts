/**
 * Error responses by path, for requests that are refused before a route is found: each path answers
 * every error in the form that its clients read. RPC and plain paths have Connect's JSON error, PromQL
 * has Prometheus's, probes and metrics have text, and a browser that opens a page gets a page.
 */
import type { Refusal } from '../../../streams/platform/refusal.ts';
import { refusalBody } from '../errors.ts';
import { PROBE_PATHS } from './operations.ts';

/** A request as far as it is known. */
export interface RefusedRequest {
  readonly method: string;
  /** With its query. */
  readonly url: string;
  readonly accept: string;
}

export interface ErrorAnswer {
  readonly type: string;
  readonly body: string;
}

const PROMQL_API = /^\/v1\/monitoring\/projects\/[^/]*\/promql\/api\/v1(?:\/|$)/;
const PROMQL = /^\/v1\/monitoring\/projects\/[^/]*\/promql(?:\/|$)/;
const RPC = /^\/[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+(?:\/|$)/;

/** The response to a refused request, without headers of its own. */
export function errorAnswer(request: RefusedRequest, refusal: Refusal): ErrorAnswer {
  const { reason, message } = refusal;
  const [path = ''] = request.url.split('?', 1);
  if (PROMQL_API.test(path)) {
    const error = `${reason}: ${message}`.toWellFormed();
    const body = JSON.stringify({ status: 'error', errorType: 'bad_data', error });
    return { type: 'application/json', body };
  }
  if (PROMQL.test(path) || PROBE_PATHS.has(path) || path === '/metrics') {
    return { type: 'text/plain; charset=utf-8', body: `${message}\n` };
  }
  if (isPage(request, path)) return { type: 'text/html; charset=utf-8', body: pageOf(message) };
  return { type: 'application/json', body: refusalBody(refusal) };
}

/** True for pages that a browser opens, and forms that it sends. */
function isPage({ method, accept }: RefusedRequest, path: string): boolean {
  return (
    ['GET', 'HEAD', 'POST'].includes(method) && accept.includes('text/html') && !RPC.test(path)
  );
}

function pageOf(message: string): string {
  const text = message.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Refused</title>
</head>
<body>
<h1>Refused</h1>
<p>${text}.</p>
<p><a href="/">Start page</a></p>
</body>
</html>
`;
}

/** The readable part of a request that the HTTP parser rejected; undefined if it is not HTTP. */
export function requestIn(packet: Buffer | undefined): RefusedRequest | undefined {
  const head = packet?.toString('latin1', 0, HEAD_BYTES_MAX) ?? '';
  const [, method, url] = /^([A-Z]{1,20}) (\/\S*) HTTP\/\d\.\d\r?\n/.exec(head) ?? [];
  if (method === undefined || url === undefined) return undefined;
  const accept = /\r?\naccept:([^\r\n]*)/i.exec(head)?.[1] ?? '';
  return { method, url, accept };
}

/** Enough for a request line and the headers of a browser. */
const HEAD_BYTES_MAX = 16_384;
