/** Connections to hosts with several addresses (RFC 8305), with sockets that answer on command. */
import { EventEmitter } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { test } from 'tap';
import { outcomeOfFault } from '../../src/delivery/notify/http/exchange.ts';
import { dial, dialHost, NotConnected } from '../../src/platform/http/dial.ts';
import { VirtualClock } from '../../streams/platform/clock.ts';

const ipv4 = (address: string) => ({ address, family: 4 });
const ipv6 = (address: string) => ({ address, family: 6 });

/** Dials with sockets of the test; `sockets` has one for each started attempt, by address. */
function dialling(
  addresses: readonly { readonly address: string; readonly family: number }[],
  signal?: AbortSignal,
) {
  const clock = new VirtualClock(0);
  const sockets = new Map<string, EventEmitter & { destroyed: boolean }>();
  const open = (address: string) => {
    const socket = Object.assign(new EventEmitter(), {
      destroyed: false,
      destroy: () => {
        socket.destroyed = true;
      },
    });
    sockets.set(address, socket);
    return socket as unknown as Socket;
  };
  const results: (Error | Socket | null)[] = [];
  dial({ addresses, port: 443, timeoutMs: 3_000, clock, open, ...(signal && { signal }) }, (...r) =>
    results.push(r[0] ?? r[1]),
  );
  const fail = (address: string, code: string) =>
    sockets.get(address)?.emit('error', Object.assign(new Error(code), { code }));
  return { clock, sockets, results, fail };
}

const errorOf = (result: unknown) => {
  if (!(result instanceof NotConnected)) throw new Error(`connected: ${String(result)}`);
  return outcomeOfFault(result);
};

test('HOOK-16: a slow handshake succeeds although another address fails', async (t) => {
  const { clock, sockets, results, fail } = dialling([ipv4('192.0.2.1'), ipv6('2001:db8::1')]);
  await clock.advance(250);
  t.same([...sockets.keys()], ['192.0.2.1', '2001:db8::1'], 'the second starts after 250 ms');
  fail('2001:db8::1', 'ENETUNREACH');
  await clock.advance(2_500);
  t.same(results, [], 'the first attempt continues');
  sockets.get('192.0.2.1')?.emit('connect');
  t.same(results, [sockets.get('192.0.2.1')]);
  await clock.advance(10_000);
  t.equal(results.length, 1, 'one result');
});

test('a failed attempt starts the next one at once, and families take turns', async (t) => {
  const addresses = [ipv4('a'), ipv4('b'), ipv4('c'), ipv6('x'), ipv6('y')];
  const { clock, sockets, results, fail } = dialling(addresses);
  fail('a', 'ECONNREFUSED');
  t.same([...sockets.keys()], ['a', 'x']);
  await clock.advance(250);
  t.same([...sockets.keys()], ['a', 'x', 'b']);
  sockets.get('b')?.emit('connect');
  t.same(results, [sockets.get('b')]);
  t.equal(sockets.get('x')?.destroyed, true, 'the slower attempt is closed');
  t.equal(sockets.get('b')?.destroyed, false);
});

test('the error names the failure of each address family', async (t) => {
  const slow = dialling([ipv4('192.0.2.1'), ipv6('2001:db8::1')]);
  await slow.clock.advance(250);
  slow.fail('2001:db8::1', 'ENETUNREACH');
  await slow.clock.advance(3_000);
  t.equal(
    errorOf(slow.results[0]).error,
    'IPv6: the host cannot be reached; IPv4: no connection within 3 s',
  );
  t.equal(slow.sockets.get('192.0.2.1')?.destroyed, true);

  const silent = dialling([ipv4('192.0.2.1'), ipv6('2001:db8::1')]);
  await silent.clock.advance(3_000);
  t.equal(errorOf(silent.results[0]).error, 'No connection within 3 s');

  const refused = dialling([ipv4('192.0.2.1'), ipv4('192.0.2.2')]);
  refused.fail('192.0.2.1', 'ECONNREFUSED');
  refused.fail('192.0.2.2', 'ECONNREFUSED');
  t.equal(errorOf(refused.results[0]).error, 'Connection refused');

  const local = dialling([ipv4('192.0.2.1'), ipv6('2001:db8::1')]);
  local.fail('192.0.2.1', 'ECONNREFUSED');
  local.fail('2001:db8::1', 'EADDRNOTAVAIL');
  const outcome = errorOf(local.results[0]);
  t.notOk(outcome.ours, 'a host without IPv6 does not blame this service');
  const full = dialling([ipv4('192.0.2.1')]);
  full.fail('192.0.2.1', 'EMFILE');
  t.match(errorOf(full.results[0]), { ours: true });
});

test('an abort ends all attempts', async (t) => {
  const end = new AbortController();
  const { results, sockets, clock } = dialling([ipv4('192.0.2.1')], end.signal);
  end.abort();
  t.ok(results[0] instanceof NotConnected);
  t.equal(sockets.get('192.0.2.1')?.destroyed, true);
  await clock.advance(10_000);
  t.equal(results.length, 1);
  t.ok(dialling([ipv4('192.0.2.1')], AbortSignal.abort()).results[0] instanceof NotConnected);
  t.ok(dialling([]).results[0] instanceof NotConnected, 'a host without an address');
});

test('a name with one reachable address is connected', async (t) => {
  const server = createServer((socket) => void socket.end());
  t.teardown(() => void server.close());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { readonly port: number };
  const connected = await new Promise<Socket | null>((resolve, reject) =>
    dialHost(
      {
        host: 'receiver.test',
        port,
        timeoutMs: 3_000,
        // The first one refuses: nothing listens there.
        resolve: (_host, done) => done(null, [ipv4('127.0.0.2'), ipv4('127.0.0.1')]),
      },
      (error, socket) => (error ? reject(error) : resolve(socket)),
    ),
  );
  t.equal(connected?.remoteAddress, '127.0.0.1');
  connected?.destroy();
});
