/**
 * The catalogue of errors, compared with the reasons in the sources, the documentation and HTTP.
 */
import { readFileSync } from 'node:fs';
import { Code, ConnectError } from '@connectrpc/connect';
import { test } from 'tap';
import { HistoryError } from '../../sqlite/telemetry/history/history-error.ts';
import { ErrorInfoSchema } from '../../src/gen/svc/options/v1/error_pb.ts';
import { asConnectError } from '../../src/platform/api/error-mapping.ts';
import {
  errorCatalogue,
  errorsPage,
  httpStatusOf,
  toConnectError,
} from '../../src/platform/errors.ts';
import type { Log } from '../../src/platform/log.ts';
import { REFUSAL_REASONS, Refusal } from '../../streams/platform/refusal.ts';
import { StreamUnavailable } from '../../streams/platform/stream.ts';

const page = readFileSync(new URL('../../docs/errors.md', import.meta.url), 'utf8');

test('API-29: the catalogue has exactly the reasons that the sources throw', (t) => {
  t.same(Object.keys(errorCatalogue).sort(), [...REFUSAL_REASONS].sort());
  t.end();
});

test('API-29: the page documents exactly the reasons that the sources throw', (t) => {
  const documented = [...page.matchAll(/^\| ([A-Z_]+) \|/gm)].map(([, reason]) => reason);
  t.same(documented.sort(), [...REFUSAL_REASONS].sort());
  t.equal(page, errorsPage(), 'generated from the catalogue: npm run generate');
  t.end();
});

test('Statuses are those of the Connect protocol; 429 is reserved for backing off', (t) => {
  for (const reason of REFUSAL_REASONS) {
    const status = httpStatusOf(reason);
    t.ok(
      [400, 401, 403, 404, 405, 409, 415, 421, 429, 500, 503, 504].includes(status),
      `${reason} ${status}`,
    );
    t.equal(status === 429, reason === 'TOO_MANY_REQUESTS', reason);
  }
  t.equal(httpStatusOf('REQUEST_TOO_LARGE'), 400);
  t.equal(httpStatusOf('RESPONSE_TOO_LARGE'), 400);
  t.equal(httpStatusOf('STALE_VERSION'), 409);
  t.equal(httpStatusOf('LIMIT_EXCEEDED'), 400);
  t.end();
});

test('A refusal carries its reason, its facts and their headers', (t) => {
  const error = toConnectError(new Refusal('STALE_VERSION', 'At 3', { currentVersion: '3' }));
  t.equal(error.code, Code.Aborted);
  t.match(error.findDetails(ErrorInfoSchema), [
    { reason: 'STALE_VERSION', metadata: { currentVersion: '3' } },
  ]);
  const headers = (reason: (typeof REFUSAL_REASONS)[number], metadata = {}) =>
    toConnectError(new Refusal(reason, 'x', metadata)).metadata;
  t.equal(headers('TOO_MANY_REQUESTS', { retryAfterSeconds: '7' }).get('retry-after'), '7');
  t.ok(headers('NOT_READY').get('retry-after'));
  t.equal(headers('IN_PROGRESS').get('retry-after'), '1');
  t.equal(headers('STALE_VERSION').get('retry-after'), null, 'repeating the call would not help');
  t.equal(headers('CREDENTIAL_REVOKED').get('www-authenticate'), 'Bearer');
  t.equal(headers('INVALID_FIELD').get('retry-after'), null);
  t.end();
});

test('Failures other than refusals have a reason, too', (t) => {
  const logged: string[] = [];
  const note = (_facts: object, message: string) => void logged.push(message);
  const log: Log = { debug: note, info: note, warn: note, error: note, child: () => log };
  const connectErrorOf = (error: unknown) => asConnectError(error, 'Method', log);
  const reasonOf = (error: unknown) =>
    connectErrorOf(error).findDetails(ErrorInfoSchema)[0]?.reason;

  t.equal(reasonOf(new StreamUnavailable('No answer', 'unknown')), 'NOT_READY');
  const away = connectErrorOf(
    new StreamUnavailable('Not connected to host-of-ours', 'unknown'),
  ).rawMessage;
  t.match(away, /same request again/);
  t.notMatch(away, /host-of-ours/, 'the stream’s text is for operators only');
  t.same(logged, [], 'the state of the stream is in /readyz');
  t.equal(reasonOf(new HistoryError('OVERLOADED', 'x')), 'NOT_READY');
  t.equal(reasonOf(Object.assign(new Error('locked'), { code: 'SQLITE_BUSY' })), 'NOT_READY');
  t.equal(logged.length, 2, 'storage faults are in the log');
  const own = connectErrorOf(new TypeError('secret inside'));
  t.equal(own.code, Code.Internal);
  t.notMatch(own.rawMessage, /secret/);
  t.equal(logged.length, 3);
  const ended = AbortSignal.abort(new Error('http/1.x connection closed'));
  const endedErrorOf = (error: unknown) => asConnectError(error, 'Method', log, ended).code;
  const ends = [
    ended.reason,
    new DOMException('stopped', 'AbortError'),
    new HistoryError('CLOSED', 'The scraper disconnected'),
    new Error('The page could not be read', { cause: ended.reason }),
  ];
  t.same(
    ends.map(endedErrorOf),
    ends.map(() => Code.Canceled),
  );
  t.equal(logged.length, 3, 'a call that its client ended is not a fault');
  t.equal(endedErrorOf(new TypeError('a fault meanwhile')), Code.Internal);
  t.equal(logged.length, 4, 'a fault is one, whoever has left');
  t.equal(reasonOf(ends[2]), 'NOT_READY');
  t.equal(logged.length, 4, 'nor is history that closes when the service stops');
  const late = new ConnectError('the operation timed out', Code.DeadlineExceeded);
  const overdue = asConnectError(late, 'Method', log, AbortSignal.abort(late));
  t.equal(overdue, late, 'the client’s deadline is reported as such');
  const gone = new ConnectError('hung up', Code.Canceled);
  t.equal(connectErrorOf(gone), gone, 'an error of the protocol is passed on unchanged');
  t.end();
});

test('a refusal holds no half of a surrogate pair', async (t) => {
  const { message, metadata } = new Refusal('INVALID_FIELD', 'a\ud83d', { field: '\udc00b' });
  t.same([message, metadata], ['a\ufffd', { field: '\ufffdb' }]);
});
