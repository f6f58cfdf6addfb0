/**
 * Identity tokens with missing or wrong signatures: other algorithms, the public key as a secret,
 * keys that the token itself supplies, other issuers, payloads that two parsers read differently.
 */
import { createHmac, KeyObject, sign } from 'node:crypto';
import { type CryptoKey, exportJWK, exportSPKI, generateKeyPair, importJWK, SignJWT } from 'jose';
import { startCiIssuer } from '../support/ci-issuer.ts';
import type { Arena } from './arena.ts';
import { type CiTry, mint } from './ci-claims.ts';

const encode = (json: unknown): string => Buffer.from(JSON.stringify(json)).toString('base64url');

/** A genuine token in its three parts. */
async function partsOf(arena: Arena) {
  const [head = '', body = '', signature = ''] = (await mint(arena)).split('.');
  return { head, body, signature };
}

/** No algorithm, and algorithms that would use the public key as a secret. */
export async function otherAlgorithms(arena: Arena): Promise<CiTry[]> {
  const { kid, privateKey, publicJwk } = arena.target.platform.key();
  const { body, signature } = await partsOf(arena);
  const names = ['none', 'None', 'nOnE', 'NONE', '', null, 'RS256 ', 'rs256', ['RS256'], 'dir'];
  const tries: CiTry[] = names.flatMap((alg) => {
    const unsigned = `${encode({ typ: 'JWT', alg, kid })}.${body}`;
    return ['', '.', `.${signature}`].map((end) => ({
      name: `alg ${JSON.stringify(alg)} and ${end.length} letters`,
      assertion: `${unsigned}${end}`,
    }));
  });
  const key = await importJWK(publicJwk, 'RS256', { extractable: true });
  // An RSA key in JSON is never a bare secret.
  const spki = await exportSPKI(key as CryptoKey);
  const { n = '' } = publicJwk;
  const secrets = [
    spki,
    spki.trim(),
    spki.replaceAll('\n', ''),
    JSON.stringify(publicJwk),
    n,
    kid,
    '',
    JSON.stringify({ keys: [publicJwk] }),
    Buffer.from(n, 'base64url'),
  ];
  for (const bits of [256, 384, 512]) {
    const signed = `${encode({ typ: 'JWT', alg: `HS${bits}`, kid })}.${body}`;
    for (const [i, secret] of secrets.entries()) {
      const end = createHmac(`sha${bits}`, secret).update(signed).digest('base64url');
      tries.push({
        name: `HS${bits} with the public key, form ${i}`,
        assertion: `${signed}.${end}`,
      });
    }
    if (bits === 256) continue;
    const rsa = `${encode({ typ: 'JWT', alg: `RS${bits}`, kid })}.${body}`;
    const end = sign(`sha${bits}`, Buffer.from(rsa), KeyObject.from(privateKey));
    const assertion = `${rsa}.${end.toString('base64url')}`;
    tries.push({ name: `RS${bits} with the real key`, assertion });
  }
  return tries;
}

/** A key that the token itself supplies or names. */
export async function otherKeys(arena: Arena): Promise<CiTry[]> {
  const { attacker, target } = arena;
  const { kid } = target.platform.key();
  const claims = target.platform.payload({ ...attacker.ci.claims, aud: attacker.ci.audience });
  const own = await generateKeyPair('RS256', { extractable: true });
  const jwk = { ...(await exportJWK(own.publicKey)), kid };
  const headers: readonly object[] = [
    {},
    { jwk },
    { jwk, kid: undefined },
    { x5c: ['AAAA'] },
    { jku: 'http://127.0.0.1:1/jwks', kid: 'x' },
    { x5u: 'http://127.0.0.1:1/x', kid: 'x' },
  ];
  const tries: CiTry[] = [];
  for (const header of headers) {
    const token = new SignJWT(claims).setProtectedHeader({
      alg: 'RS256',
      typ: 'JWT',
      kid,
      ...header,
    });
    const name = `another key, with ${Object.keys(header).join()}`;
    tries.push({ name, assertion: await token.sign(own.privateKey) });
  }
  const ids = [
    '',
    'x',
    '../../dev/null',
    `${kid}x`,
    kid.toUpperCase(),
    'k'.repeat(5_000),
    [kid],
    1,
    null,
    '__proto__',
    "' OR 1=1",
  ];
  for (const id of ids) {
    const name = `key id ${JSON.stringify(id).slice(0, 40)}`;
    tries.push({ name, assertion: await mint(arena, {}, { kid: id }).catch(() => 'x.y.z') });
  }
  return tries;
}

/** The genuine token, truncated, changed, padded and reassembled. */
export async function oddForms(arena: Arena): Promise<CiTry[]> {
  const { kid } = arena.target.platform.key();
  const { head, body, signature } = await partsOf(arena);
  const token = `${head}.${body}.${signature}`;
  const headers = [
    { crit: ['x'], x: 1 },
    { b64: false },
    { zip: 'DEF' },
    { cty: 'JWT' },
    { typ: 'at+jwt' },
    { enc: 'A128GCM' },
  ];
  const changed = [0, 5, 50, 200].map((at) => {
    const letter = signature[at] === 'A' ? 'B' : 'A';
    return `${head}.${body}.${signature.slice(0, at)}${letter}${signature.slice(at + 1)}`;
  });
  const assertions = [
    ...headers.map(
      (more) => `${encode({ typ: 'JWT', alg: 'RS256', kid, ...more })}.${body}.${signature}`,
    ),
    ...[0, 1, 10, 100, signature.length - 1].map(
      (cut) => `${head}.${body}.${signature.slice(0, cut)}`,
    ),
    ...changed,
    '',
    ' ',
    '.',
    '..',
    'x',
    'x.y',
    'a.b.c.d',
    'A'.repeat(17_000),
    `${token}.`,
    ` ${token}`,
    `${token}\n`,
    `Bearer ${token}`,
    `${head}.${body}=.${signature}`,
    `${head}..${signature}`,
    `${head}.e30.${signature}`,
    `e30.${body}.${signature}`,
  ];
  return assertions.map((assertion, i) => ({
    name: `odd form ${i}, ${assertion.length} letters`,
    assertion,
  }));
}

/** A platform of the attacker's own, and one that claims to be the trusted one. */
export async function otherIssuers(arena: Arena): Promise<CiTry[]> {
  const { attacker, target } = arena;
  const { url } = target.platform;
  const foreign = await startCiIssuer();
  await foreign.rotate({ keepOld: false });
  const claims = { ...attacker.ci.claims, aud: attacker.ci.audience };
  const issuers = [
    foreign.url,
    url,
    `${url}/`,
    url.replace('http', 'https'),
    `${url}.evil.example`,
    `${url}@evil.example`,
    url.toUpperCase(),
    `${url}#`,
    `${url}?`,
    [url],
    '',
    'https://token.actions.githubusercontent.com',
  ];
  const tries: CiTry[] = [];
  for (const iss of issuers) {
    tries.push({
      name: `foreign key, iss ${iss}`,
      assertion: await foreign.mint({ ...claims, iss }),
    });
    const { kid } = target.platform.key();
    tries.push({
      name: `foreign key under the known id, iss ${iss}`,
      assertion: await foreign.mint({ ...claims, iss }, { header: { kid } }),
    });
    if (iss !== url)
      tries.push({ name: `real key, iss ${iss}`, assertion: await mint(arena, { iss }) });
  }
  await foreign.close();
  return tries;
}

/** Genuinely signed tokens that can be read in two ways. */
export async function rawPayloads(arena: Arena): Promise<CiTry[]> {
  const { attacker, target } = arena;
  const { kid, privateKey } = target.platform.key();
  const key = KeyObject.from(privateKey);
  const signed = (header: string, payload: string) => {
    const content = `${Buffer.from(header).toString('base64url')}.${Buffer.from(payload).toString('base64url')}`;
    return `${content}.${sign('sha256', Buffer.from(content), key).toString('base64url')}`;
  };
  const header = JSON.stringify({ typ: 'JWT', alg: 'RS256', kid });
  const payload = () =>
    JSON.stringify(target.platform.payload({ ...attacker.ci.claims, aud: attacker.ci.audience }));
  const twice = (name: string, value: string) => payload().replace('{', `{"${name}":${value},`);
  const after = (name: string, value: string) => payload().replace(/}$/, `,"${name}":${value}}`);
  const tries: CiTry[] = [];
  for (const [name, value] of [
    ['ref', '"refs/heads/evil"'],
    ['repository_id', '"1"'],
    ['aud', '"x"'],
    ['exp', '99999999999'],
    ['event_name', '"pull_request"'],
    ['iss', '"x"'],
    ['jti', '"x"'],
    ['sub', '"x"'],
  ] as const) {
    tries.push({ name: `${name} twice, first`, assertion: signed(header, twice(name, value)) });
    tries.push({ name: `${name} twice, last`, assertion: signed(header, after(name, value)) });
    const escaped = `\\u00${name.charCodeAt(0).toString(16)}${name.slice(1)}`;
    tries.push({
      name: `${name} twice, escaped`,
      assertion: signed(header, after(escaped, value)),
    });
  }
  const odd = [
    '[]',
    'null',
    '""',
    '1',
    `${payload()} x`,
    `\ufeff${payload()}`,
    payload().slice(0, -1),
    '{}',
    `[${payload()}]`,
  ];
  for (const [i, text] of odd.entries())
    tries.push({ name: `payload of odd form ${i}`, assertion: signed(header, text) });
  const heads = [
    `{"alg":"none",${header.slice(1)}`,
    `${header.slice(0, -1)},"alg":"none"}`,
    '[]',
    'null',
    '{}',
    '{"alg":"RS256"}',
  ];
  for (const [i, text] of heads.entries())
    tries.push({ name: `header of odd form ${i}`, assertion: signed(text, payload()) });
  return tries;
}
