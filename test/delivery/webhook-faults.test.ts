/** Exchanges without an answer: whose fault it was, without revealing internal names. */
import { test } from 'tap';
import { AddressGuard } from '../../src/delivery/notify/http/address-guard.ts';
import { createHttpExchange, outcomeOfFault } from '../../src/delivery/notify/http/exchange.ts';
import type { Resolve } from '../../src/platform/http/dial.ts';
import { VirtualClock } from '../../streams/platform/clock.ts';

test('an error states the problem and whose fault it is, but no address', async (t) => {
  const fault = (code: string, syscall?: string) =>
    Object.assign(new Error(`${syscall} ${code} hooks.example 10.1.2.3:443`), { code, syscall });
  const ended = 'The connection was closed before a response arrived';
  const cases: readonly (readonly [Error, object])[] = [
    [fault('ECONNREFUSED', 'connect'), { unknown: false, error: 'Connection refused' }],
    [fault('EHOSTUNREACH', 'connect'), { unknown: false, error: 'The host cannot be reached' }],
    [fault('UND_ERR_CONNECT_TIMEOUT'), { unknown: false, error: 'TLS: no handshake within 3 s' }],
    [fault('ETIMEDOUT', 'connect'), { unknown: false, error: 'No connection within 3 s' }],
    ...['EMFILE', 'EADDRNOTAVAIL', 'EPERM'].map((code) => {
      const error = 'This service could not open a connection';
      return [fault(code, 'connect'), { unknown: false, ours: true, error }] as const;
    }),
    [
      fault('ERR_SSL_NO_CIPHER'),
      { unknown: false, error: 'TLS: the handshake failed (ERR_SSL_NO_CIPHER)' },
    ],
    ...['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'].map(
      (code) => [fault(code, 'read'), { unknown: true, error: ended }] as const,
    ),
    [fault('EWHATEVER'), { unknown: true, error: 'The request failed (EWHATEVER)' }],
    [fault('hooks.example'), { unknown: true, error: 'The request failed' }],
    [new Error('x'.repeat(275_000)), { unknown: true, error: 'The request failed' }],
  ];
  for (const [error, expected] of cases) {
    t.same(outcomeOfFault(error), { kind: 'failed', ...expected });
  }
});

test('internal names, external names and missing names fail alike and after the same time', async (t) => {
  const at =
    (...addresses: readonly string[]): Resolve =>
    (_host, done) =>
      done(
        null,
        addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
      );
  const failing =
    (code: string): Resolve =>
    (_host, done) =>
      done(Object.assign(new Error(`queryA ${code} grafana.corp`), { code }), []);
  const noAddress = {
    kind: 'failed',
    unknown: false,
    error:
      'The host name has no address that may be called. Fix the URL or the DNS records of the name',
  };
  const silent = {
    kind: 'failed',
    unknown: false,
    ours: true,
    error: 'The name server of this service does not answer',
  };
  const cases: readonly (readonly [string, Resolve, object])[] = [
    ['inside', at('10.1.2.3'), noAddress],
    ['this host', at('127.0.0.1'), noAddress],
    ['inside, by IPv6', at('fd00::1'), noAddress],
    ['inside and outside', at('8.8.8.8', '10.1.2.3'), noAddress],
    ['nowhere', at(), noAddress],
    // Every code of c-ares except those for silence, and an unknown one.
    ...[
      'ENOTFOUND',
      'ENODATA',
      'ESERVFAIL',
      'EREFUSED',
      'EFORMERR',
      'ENOTIMP',
      'EBADNAME',
      'EBADQUERY',
      'EBADFAMILY',
      'EBADRESP',
      'ENONAME',
      'EOF',
      'ENOMEM',
      'EAI_FAIL',
      'EWHAT',
    ].map((code) => [code, failing(code), noAddress] as const),
    ...['ETIMEOUT', 'ECONNREFUSED', 'EAI_AGAIN'].map(
      (code) => [code, failing(code), silent] as const,
    ),
  ];
  for (const [name, resolve, expected] of cases) {
    const clock = new VirtualClock(0);
    const guard = new AddressGuard({ hosts: [], http: false });
    const exchange = createHttpExchange({ guard, clock, resolve });
    const ended = { isIt: false };
    const attempt = exchange
      .post({
        url: 'https://grafana.corp/',
        headers: {},
        body: Buffer.from('{}'),
        deadlineElapsedMs: 10_000,
      })
      .finally(() => (ended.isIt = true));
    for (let i = 0; i < 5; i++) await new Promise(setImmediate);
    await clock.advance(2_999);
    t.notOk(ended.isIt, `${name}: not before 3 s`);
    await clock.advance(1);
    t.same(await attempt, { kind: 'unanswered', outcome: expected }, name);
    await exchange.close();
  }
});
