/** Allowed addresses and ports of a webhook, as written and as parsed. */
import fc from 'fast-check';
import ipaddr from 'ipaddr.js';
import { test } from 'tap';
import { AddressGuard } from '../../src/delivery/notify/http/address-guard.ts';
import { isPublicAddress } from '../../src/delivery/notify/http/public-address.ts';
import { loadConfig } from '../../src/platform/settings/config.ts';
import { tries } from '../support/tries.ts';

test('HOOK-17: a forbidden URL is rejected with its reason', async (t) => {
  const guard = new AddressGuard({ hosts: [], http: false });
  const cases: readonly (readonly [string, RegExp | undefined])[] = [
    ['https://example.com/hook', undefined],
    [`https://example.com/${'h'.repeat(2_048 - 20)}`, undefined],
    [`https://example.com/${'h'.repeat(2_049 - 20)}`, /at most 2048/],
    [`https://example.com/${'h'.repeat(990_000)}`, /at most 2048/],
    ['https://bücher.example/höok', undefined],
    ['https://example.com/a b', /printable/],
    ['https://exam\tple.com/', /printable/],
    [' https://example.com/', /printable/],
    ['https://example.com/\u202e', /printable/],
    ['http://example.com/hook', /https/],
    ['ftp://example.com/', /https/],
    ['https://user:pass@example.com/', /user or password/],
    ['nonsense', /not a URL/],
    ['https://127.0.0.1/', /not a public address/],
    ['https://0x7f000001/', /not a public address/],
    ['https://2130706433/', /not a public address/],
    ['https://0177.0.0.1/', /not a public address/],
    ['https://[::ffff:7f00:1]/', /not a public address/],
  ];
  for (const [url, expected] of cases) {
    const refusal = guard.refuseUrl(url);
    const said = url.slice(0, 80);
    if (expected) t.match(refusal, expected, said);
    else t.equal(refusal, undefined, said);
    t.notMatch(refusal ?? '', /example|127\.0/, 'it reveals nothing about the URL');
  }
});

test('HOOK-17: only hosts that the operator allows are exempt', async (t) => {
  const guard = new AddressGuard({ hosts: ['127.0.0.0/8', 'hooks.lab'], http: true });
  t.equal(guard.refuseUrl('http://127.0.0.1:9090/x'), undefined);
  t.equal(guard.refuseUrl('http://hooks.lab/x'), undefined);
  t.match(guard.refuseUrl('http://other.lab/x'), /https/);
  t.match(guard.refuseUrl('https://10.0.0.1/x'), /not a public address/);
  t.equal(
    new AddressGuard({ hosts: ['127.0.0.1'], http: false }).refuseUrl('https://127.0.0.1/'),
    undefined,
  );
  t.throws(() => new AddressGuard({ hosts: ['nonsense/8'], http: false }), RangeError);
});

test('HOOK-17: only addresses of the public internet are public, in any notation', async (t) => {
  const open = [
    '8.8.8.8',
    '2606:4700::1',
    '::ffff:8.8.8.8',
    '64:ff9b::808:808',
    '2002:808:808::',
    '2a00:1450:4001::200e',
    '2001:4860:4860::8888',
    '2000::5efe',
    '2a00::5eff:a00:1',
  ];
  const closed = [
    '127.0.0.1',
    '10.1.1.1',
    '172.16.0.1',
    '192.168.0.1',
    '169.254.169.254',
    '100.64.0.1',
    '0.0.0.0',
    '255.255.255.255',
    '224.0.0.1',
    '192.0.2.1',
    '198.18.0.1',
    '::',
    '::1',
    '::ffff:7f00:1',
    '64:ff9b::7f00:1',
    '2002:7f00:1::',
    '::7f00:1',
    '2001:0:1::1',
    '168.63.129.16',
    '::ffff:168.63.129.16',
    '64:ff9b::a83f:8110',
    '100.100.100.200',
    'fe80::1',
    'fc00::1',
    'ff02::1',
    '2001:db8::1',
    'not an address',
    '2606:4700::1%eth0',
    // ISATAP with any prefix and any embedded IPv4 address.
    '2a00::5efe:a00:1',
    '2a00::200:5efe:a00:1',
    '2a00::5efe:808:808',
    'fe80::5efe:a00:1',
    // Obsolete forms: IPv4-compatible and IPv4-translated.
    '::808:808',
    '::ffff:0:808:808',
    '64:ff9b:1::808:808',
  ];
  for (const address of open) t.equal(isPublicAddress(address), true, address);
  for (const address of closed) t.equal(isPublicAddress(address), false, address);
});

/**
 * IANA's special-purpose registries, as of 2025, and other addresses that are not global unicast.
 */
const SPECIAL_IPV4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.31.196.0/24',
  '192.52.193.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '192.175.48.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
];
const SPECIAL_IPV6 = [
  '::/128',
  '::1/128',
  '::/96',
  '64:ff9b:1::/48',
  '100::/64',
  '100:0:0:1::/64',
  '2001::/23',
  '2001:db8::/32',
  '2620:4f:8000::/48',
  '3fff::/20',
  '5f00::/16',
  'fc00::/7',
  'fe80::/10',
  'fec0::/10',
  'ff00::/8',
  '4000::/2',
  '8000::/1',
  '200::/7',
  '400::/6',
  '800::/5',
  '1000::/4',
];

/** Any address of a block. */
function within(block: string): fc.Arbitrary<string> {
  const [network, bits] = ipaddr.parseCIDR(block);
  const bytes = network.toByteArray();
  return fc.uint8Array({ minLength: bytes.length, maxLength: bytes.length }).map((random) => {
    const mixed = bytes.map((byte, i) => {
      const kept = Math.min(8, Math.max(0, bits - 8 * i));
      return (byte & (0xff << (8 - kept))) | ((random[i] ?? 0) & (0xff >> kept));
    });
    return ipaddr.fromByteArray(mixed).toString();
  });
}

test('HOOK-17: special addresses are never public, in any IPv6 form', async (t) => {
  const carriers: readonly ((ipv4: string) => string)[] = [
    (ipv4) => `::ffff:${ipv4}`,
    (ipv4) => `64:ff9b::${ipv4}`,
    (ipv4) =>
      `2002:${ipaddr.IPv4.parse(ipv4)
        .toIPv4MappedAddress()
        .parts.slice(6)
        .map((part) => part.toString(16))
        .join(':')}::1`,
    (ipv4) => `2a00:1450::5efe:${ipv4}`,
    (ipv4) => `2a00:1450::200:5efe:${ipv4}`,
  ];
  const anyIPv4 = fc.oneof(...SPECIAL_IPV4.map(within));
  fc.assert(
    fc.property(anyIPv4, fc.oneof(...SPECIAL_IPV6.map(within)), (ipv4, ipv6) => {
      const forms = [ipv4, ipv6, ...carriers.map((form) => form(ipv4))];
      return forms.every((form) => ipaddr.isValid(form) && !isPublicAddress(form));
    }),
    { numRuns: tries(2_000) },
  );
  t.pass();
});

test('HOOK-17: ports of other protocols are rejected, and an allow-list rejects all others', async (t) => {
  const any = new AddressGuard({ hosts: ['127.0.0.1'], http: true });
  for (const port of [22, 25, 465, 587, 6667]) {
    const sentence = `Port ${port} belongs to another protocol. Use a port for https, such as 443`;
    t.equal(any.refuseUrl(`https://example.com:${port}/`), sentence);
    t.equal(any.refuseUrl(`https://127.0.0.1:${port}/`), sentence, 'also on allowed hosts');
  }
  for (const port of [80, 443, 8080, 8443, 9000, 65_535]) {
    t.equal(any.refuseUrl(`https://example.com:${port}/`), undefined);
  }
  const { settings } = loadConfig([], { SVC_WEBHOOK_PORTS: '443, 8443-8445' });
  const ports = settings.webhookPorts ?? [];
  const some = new AddressGuard({ hosts: ['127.0.0.1'], http: true, ports });
  for (const url of ['https://example.com/', 'https://example.com:8444/', 'https://127.0.0.1/']) {
    t.equal(some.refuseUrl(url), undefined, url);
  }
  const sentence = (port: number) => `Port ${port} is not allowed here. Use 443 or 8443-8445`;
  t.equal(some.refuseUrl('https://example.com:8446/'), sentence(8446));
  t.equal(some.refuseUrl('http://127.0.0.1/'), sentence(80), 'http has a port too');
  for (const bad of ['0', '70000', '9-8', 'https', '443;8443', '-1', '1-2-3']) {
    t.throws(() => loadConfig([], { SVC_WEBHOOK_PORTS: bad }), /SVC_WEBHOOK_PORTS/, bad);
  }
});
