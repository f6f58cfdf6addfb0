/**
 * Requests that are refused before any route is found: each path answers in the form that its
 * clients read, also for requests that the HTTP parser rejects.
 */
import { connect } from 'node:net';
import { test } from 'tap';
import { joinService } from '../support/shared-service.ts';

const PROMQL = '/v1/monitoring/projects/demo/promql';
const RPC = '/svc.project.v1.ProjectService/ListProjects';

/** Forms of errors, by the path and the client's Accept header. */
const FORMS = [
  {
    path: RPC,
    accept: 'application/json',
    type: /^application\/json/,
    body: /^\{"code":"invalid_argument","message":".*"details":\[.*INVALID_FIELD/,
  },
  {
    path: RPC,
    accept: 'text/html',
    type: /^application\/json/,
    body: /^\{"code":"invalid_argument"/,
  },
  {
    path: '/nothing',
    accept: '*/*',
    type: /^application\/json/,
    body: /^\{"code":"invalid_argument"/,
  },
  {
    path: `${PROMQL}/api/v1/query`,
    accept: '*/*',
    type: /^application\/json/,
    body: /^\{"status":"error","errorType":"bad_data","error":"INVALID_FIELD: /,
  },
  { path: '/healthz', accept: 'text/html', type: /^text\/plain/, body: /^[A-Z][^<{]+\n$/ },
  { path: `${PROMQL}/-/ready`, accept: '*/*', type: /^text\/plain/, body: /^[A-Z][^<{]+\n$/ },
  {
    path: '/auth/sign-in',
    accept: 'text/html,*/*',
    type: /^text\/html/,
    body: /^<!doctype html>.*<p>.*<\/html>\n$/s,
  },
] as const;

/** Sends raw bytes; resolves with status, type and body once the server closes. */
function exchange(address: string, bytes: string) {
  const { port } = new URL(address);
  return new Promise<{ status: number; type: string; body: string }>((resolve) => {
    let text = '';
    const socket = connect(Number(port), '127.0.0.1', () => socket.write(bytes));
    socket.on('data', (chunk) => {
      text += chunk;
    });
    socket.on('error', () => {});
    socket.on('close', () => {
      const [head = '', body = ''] = text.split('\r\n\r\n');
      const type = /^content-type: (.*)$/im.exec(head)?.[1]?.trim() ?? '';
      resolve({ status: Number(head.split(' ')[1]), type, body });
    });
  });
}

const { demo } = await joinService('envelopes');
const { host } = new URL(demo.baseUrl);
const request = (line: string, accept: string, more = '') =>
  `${line} HTTP/1.1\r\nhost: ${host}\r\naccept: ${accept}\r\nconnection: close\r\n${more}\r\n`;

test('a path that cannot be decoded is refused in the format of its path', async (t) => {
  for (const { path, accept, type, body } of FORMS) {
    const [, last = ''] = /\/([^/]*)$/.exec(path) ?? [];
    for (const bad of [`${path.slice(0, -last.length)}%zz${last}`, `${path}/%ff`]) {
      const answer = await exchange(demo.baseUrl, request(`GET ${bad}`, accept));
      // A probe is a single path; anything else is not a probe.
      if (path === '/healthz') continue;
      t.equal(answer.status, 400, bad);
      t.match(answer.type, type, bad);
      t.match(answer.body, body, bad);
    }
  }
});

test('a request that the HTTP parser rejects is answered in the format of its path', async (t) => {
  for (const { path, accept, type, body } of FORMS) {
    for (const [status, more, method = 'GET'] of [
      [400, 'content-length: x\r\n'],
      [400, 'content-length: 4\r\ntransfer-encoding: chunked\r\n'],
      [400, 'a b: c\r\n'],
      [400, '', 'BREW'],
      [431, `x: ${'y'.repeat(66_000)}\r\n`],
      [417, 'expect: 200-ok\r\n'],
    ] as const) {
      const what = `${method} ${path} ${more.slice(0, 40)}`;
      const answer = await exchange(demo.baseUrl, request(`${method} ${path}`, accept, more));
      t.equal(answer.status, status, what);
      if (method === 'BREW' && /html/.test(accept)) continue;
      if (status === 431) {
        // Which packet has the first line depends on the network.
        t.match(answer.body, /^(?:\{"code":|\{"status":"error"|<!doctype html>|[A-Z])/, what);
        continue;
      }
      t.match(answer.type, type, what);
      t.match(answer.body, body, what);
    }
  }
});

test('a long path segment and an unknown method get the envelope of their path', async (t) => {
  const long = await exchange(
    demo.baseUrl,
    request(`GET /v1/monitoring/projects/${'x'.repeat(5_000)}/promql/api/v1/query`, '*/*'),
  );
  t.match(long, { type: /^application\/json/, body: /^\{"status":"error"/ });
  const purge = await exchange(demo.baseUrl, request(`PURGE ${RPC}`, '*/*'));
  t.match(purge, { type: /^application\/json/, body: /^\{"code":/ });
});

test('bytes that are not HTTP get no body', async (t) => {
  t.match(await exchange(demo.baseUrl, 'hello\r\n\r\n'), { status: 400, body: '' });
});
