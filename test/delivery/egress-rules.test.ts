/** Rules of the operator for outgoing requests: denied hosts, own networks, translators of IPv4. */
import { networkInterfaces } from 'node:os';
import { test } from 'tap';
import { AddressGuard } from '../../src/delivery/notify/http/address-guard.ts';
import { createHttpExchange } from '../../src/delivery/notify/http/exchange.ts';
import { Nat64, type Nat64Setting } from '../../src/delivery/notify/http/nat64.ts';
import { ownNetworks } from '../../src/delivery/notify/http/own-networks.ts';
import type { Resolve } from '../../src/platform/http/dial.ts';
import { systemClock, VirtualClock } from '../../streams/platform/clock.ts';

const NOT_ALLOWED = "The operator of this service does not allow the URL's host";

test('HOOK-17: the deny list beats the allow list, by name and by address', async (t) => {
  const guard = new AddressGuard({
    hosts: ['10.0.0.0/8', 'hooks.lan', 'bad.lan', '8.8.8.8'],
    denied: ['10.1.0.0/16', 'bad.lan', 'evil.example', '8.8.8.0/24', '2a00:bad::/32'],
    http: true,
    ownNetworks: () => [],
  });
  const cases: readonly (readonly [string, string | undefined])[] = [
    ['http://10.2.0.1/', undefined],
    ['http://hooks.lan/', undefined],
    ['https://10.1.0.1/', NOT_ALLOWED],
    ['https://0x0a010001/', NOT_ALLOWED],
    ['https://[::ffff:10.1.0.1]/', NOT_ALLOWED],
    ['https://[64:ff9b::10.1.0.1]/', NOT_ALLOWED],
    ['https://[2002:a01:1::1]/', NOT_ALLOWED],
    ['https://bad.lan/', NOT_ALLOWED],
    ['https://BAD.lan/', NOT_ALLOWED],
    ['https://evil.example./', NOT_ALLOWED],
    ['https://evil.example/', NOT_ALLOWED],
    ['https://not.evil.example/', undefined],
    ['https://8.8.8.8/', NOT_ALLOWED],
    ['https://[64:ff9b::808:808]/', NOT_ALLOWED],
    ['https://[2a00:bad::1]/', NOT_ALLOWED],
    ['https://8.8.4.4/', undefined],
  ];
  for (const [url, expected] of cases) t.equal(guard.refuseUrl(url), expected, url);
  t.match(guard.refuseAddress('10.1.2.3', 'hooks.lan'), /SVC_WEBHOOK_DENY/, 'an allowed name too');
  t.match(guard.refuseAddress('8.8.4.4', 'evil.example.'), /SVC_WEBHOOK_DENY/);
  t.equal(guard.refuseAddress('10.2.2.3', 'hooks.lan'), undefined);
  for (const denied of ['https://bad.lan/', 'https://10.1.0.1/']) {
    t.notOk(guard.isExempt(new URL(denied)), `${denied} cannot replace the host of a chat`);
  }
  t.throws(() => new AddressGuard({ hosts: [], http: false, denied: ['x/8'] }), RangeError);
});

test('HOOK-17: a range written as mapped IPv6 denies the IPv4 addresses', async (t) => {
  const denied = ['::ffff:8.8.0.0/112'];
  const guard = new AddressGuard({ hosts: [], http: false, denied, ownNetworks: () => [] });
  t.match(guard.refuseAddress('8.8.8.8', 'a.example'), /SVC_WEBHOOK_DENY/);
  t.match(guard.refuseAddress('::ffff:8.8.8.8', 'a.example'), /SVC_WEBHOOK_DENY/);
  t.equal(guard.refuseAddress('8.9.8.8', 'a.example'), undefined);
});

test('HOOK-17: networks of this machine are refused unless the allow list names them', async (t) => {
  let own: readonly string[] = ['93.184.216.0/24', '2a00:1450::5/64'];
  const rules = { http: false, ownNetworks: () => own };
  const guard = new AddressGuard({ hosts: [], ...rules });
  const refused = ['93.184.216.34', '2a00:1450::9', '::ffff:93.184.216.34', '2002:5db8:d822::1'];
  for (const address of refused) {
    t.match(guard.refuseAddress(address, 'own.example'), /network of this machine/, address);
  }
  t.equal(guard.refuseUrl('https://93.184.216.34/'), NOT_ALLOWED);
  t.equal(guard.refuseAddress('93.184.217.34', 'other.example'), undefined);
  const open = new AddressGuard({ hosts: ['93.184.216.0/24', 'own.example'], ...rules });
  t.equal(open.refuseAddress('93.184.216.34', 'any.example'), undefined, 'allowed by range');
  t.equal(open.refuseAddress('2a00:1450::9', 'own.example'), undefined, 'allowed by name');
  own = ['1.2.3.4/32'];
  t.equal(guard.refuseAddress('93.184.216.34', 'own.example'), undefined, 'the machine moved');
  t.match(guard.refuseAddress('1.2.3.4', 'own.example'), /network of this machine/);
});

test('HOOK-17: every interface of the machine is among its networks', async (t) => {
  const networks = ownNetworks();
  for (const { address } of Object.values(networkInterfaces()).flatMap((list) => list ?? [])) {
    const [plain = ''] = address.split('%', 1);
    t.ok(
      networks.some((network) => network.split('/')[0] === plain),
      address,
    );
  }
  t.notOk(networks.some((network) => network.endsWith('/0')));
});

/** Places of 192.168.1.1 under a prefix of each length, as in section 2.4 of RFC 6052. */
const RFC_FORMS = [
  ['2001:4db8::/32', '2001:4db8:c0a8:101::'],
  ['2001:4db8:100::/40', '2001:4db8:1c0:a801:1::'],
  ['2001:4db8:122::/48', '2001:4db8:122:c0a8:1:100::'],
  ['2001:4db8:122:300::/56', '2001:4db8:122:3c0:a8:101::'],
  ['2001:4db8:122:344::/64', '2001:4db8:122:344:c0:a801:100:0'],
  ['2001:4db8:122:344::/96', '2001:4db8:122:344::c0a8:101'],
] as const;

function guardWith(setting: Nat64Setting, lists: { hosts?: string[]; denied?: string[] } = {}) {
  const nat64 = new Nat64({ setting, clock: systemClock });
  const { hosts = [], denied = [] } = lists;
  return new AddressGuard({ hosts, denied, http: false, nat64, ownNetworks: () => [] });
}

test('HOOK-17: an IPv4 address behind a configured translator is checked (RFC 6052)', async (t) => {
  for (const [prefix, address] of RFC_FORMS) {
    t.equal(
      guardWith([]).refuseAddress(address, 'a.example'),
      undefined,
      `${address} looks public`,
    );
    const plain = guardWith([prefix]).refuseAddress(address, 'a.example');
    t.match(plain, /not a public address/, `${prefix} carries 192.168.1.1`);
    const open = guardWith([prefix], { hosts: ['192.168.1.0/24'] });
    t.equal(open.refuseAddress(address, 'a.example'), undefined, 'the allow list names it');
    const both = { hosts: ['192.168.1.0/24'], denied: ['192.168.1.1'] };
    t.match(guardWith([prefix], both).refuseAddress(address, 'a.example'), /SVC_WEBHOOK_DENY/);
  }
  const own = guardWith(['fd00:64::/96']);
  t.equal(own.refuseAddress('fd00:64::808:808', 'a.example'), undefined, 'a private translator');
  t.match(own.refuseAddress('fd00:65::808:808', 'a.example'), /not a public address/);
});

const KNOWN = [
  ['2001:4db8:c000:aa::', '2001:4db8::/32'],
  ['2001:4db8:122:344::c000:ab', '2001:4db8:122:344::/96'],
] as const;

for (const [answer, prefix] of KNOWN) {
  test(`HOOK-17: ${prefix} is discovered before an IPv6 address is called`, async (t) => {
    const address = RFC_FORMS.find(([one]) => one === prefix)?.[1] ?? '';
    const requested: string[] = [];
    const resolve: Resolve = (host, done) => {
      requested.push(host);
      done(null, [{ address: host === 'ipv4only.arpa' ? answer : address, family: 6 }]);
    };
    const refusals: string[] = [];
    const outcome = await post('https://inside.example/', resolve, refusals);
    t.match(outcome, { kind: 'failed', error: /no address that may be called/ });
    t.same(requested, ['inside.example', 'ipv4only.arpa']);
    t.match(refusals.join(), /inside\.example resolves to .*not a public address/);
    const literal = await post(`https://[${address}]/`, resolve, refusals);
    t.match(literal, { kind: 'failed', error: /no address that may be called/ });
  });
}

test('HOOK-17: a discovered prefix opens nothing, and is discovered again', async (t) => {
  const clock = new VirtualClock(0);
  const nat64 = new Nat64({ setting: 'auto', clock });
  const guard = new AddressGuard({ hosts: [], http: false, nat64, ownNetworks: () => [] });
  let prefix = 'fd00:64::';
  let asked = 0;
  const resolve: Resolve = (_host, done) => {
    asked++;
    done(null, [{ address: `${prefix}c000:aa`, family: 6 }]);
  };
  const refresh = () => new Promise((done) => nat64.refresh(resolve, done));
  t.equal(await refresh(), null);
  t.match(guard.refuseAddress('fd00:64::808:808', 'a.example'), /not a public address/);
  prefix = '2001:4db8:122:344::';
  t.equal(await refresh(), null);
  t.equal(asked, 1, 'the first answer is still fresh');
  await clock.advance(600_000);
  t.equal(await refresh(), null);
  t.equal(asked, 2);
  t.match(guard.refuseAddress('2001:4db8:122:344::c0a8:101', 'a.example'), /not a public/);
  t.equal(guard.refuseAddress('2001:4db8:122:344::808:808', 'a.example'), undefined);
});

test('HOOK-17: without a first answer no IPv6 address is called', async (t) => {
  const silent: Resolve = (host, done) =>
    host === 'ipv4only.arpa'
      ? done(Object.assign(new Error('queryAaaa'), { code: 'ETIMEOUT' }), [])
      : done(null, [{ address: '2001:4db8::1', family: 6 }]);
  const outcome = await post('https://a.example/', silent, []);
  t.match(outcome, { kind: 'failed', ours: true, error: /name server .* does not answer/ });
  const nat64 = new Nat64({ setting: 'auto', clock: systemClock });
  const missing: Resolve = (_host, done) =>
    done(Object.assign(new Error('queryAaaa'), { code: 'ENOTFOUND' }), []);
  t.equal(await new Promise((done) => nat64.refresh(missing, done)), null, 'no translator');
});

async function post(url: string, resolve: Resolve, refusals: string[]) {
  const exchange = createHttpExchange({
    guard: guardWith('auto'),
    clock: systemClock,
    resolve,
    noAddressMs: 0,
    onNotCalled: (sentence) => void refusals.push(sentence),
  });
  const deadlineElapsedMs = systemClock.elapsed() + 5_000;
  const request = { url, headers: {}, body: Buffer.from('{}'), deadlineElapsedMs };
  const exchanged = await exchange.post(request);
  await exchange.close();
  return exchanged.kind === 'unanswered' ? exchanged.outcome : exchanged;
}
