/** Which addresses a webhook may have: as they are written, and as they are parsed. */
import t from 'tap';
import { AddressGuard } from '../../src/notifiers/http/address-guard.ts';

t.test('a URL is refused for what it says, with a sentence', async (t) => {
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
    t.notMatch(refusal ?? '', /example|127\.0/, 'it tells nothing of the URL');
  }
});

t.test('what the operator allows is exempt, and nothing beside it', async (t) => {
  const guard = new AddressGuard({ hosts: ['127.0.0.0/8', 'hooks.lab'], http: true });
  t.equal(guard.refuseUrl('http://127.0.0.1:9/x'), undefined);
  t.equal(guard.refuseUrl('http://hooks.lab/x'), undefined);
  t.match(guard.refuseUrl('http://other.lab/x'), /https/);
  t.match(guard.refuseUrl('https://10.0.0.1/x'), /not a public address/);
  t.equal(
    new AddressGuard({ hosts: ['127.0.0.1'], http: false }).refuseUrl('https://127.0.0.1/'),
    undefined,
  );
  t.throws(() => new AddressGuard({ hosts: ['nonsense/8'], http: false }), RangeError);
});
