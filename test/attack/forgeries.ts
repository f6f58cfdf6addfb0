/**
 * Secrets that look like real ones: changed, truncated, with a correct checksum, under another kind
 * or key.
 */
import { createHmac } from 'node:crypto';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { mintSecret, type SecretKind } from '../../src/platform/keys.ts';
import type { Dice } from '../simulation/dice.ts';
import { type Arena, getRequest } from './arena.ts';
import type { Tenant } from './tenants.ts';

const KINDS: readonly SecretKind[] = [
  'pk',
  'sk',
  'col',
  'vm',
  'link',
  'inv',
  'session',
  'enrol',
  'pair',
  'verify',
];

/** Forgeries of a secret `svc_<kind>_<id>_<random and checksum>`, never the secret itself. */
export function forgedSecrets(secret: string, dice: Dice): string[] {
  const [, kind = '', id = '', rest = ''] = secret.split('_');
  const nowMs = Date.now();
  const minted = KINDS.map((each) => mintSecret(each, { nowMs, random: dice, id }).text);
  const guessed = Array.from(
    { length: 6 },
    () => mintSecret(kind as SecretKind, { nowMs, random: dice }).text,
  );
  const changed = Array.from({ length: 12 }, () => {
    const at = dice.below(secret.length);
    return secret.slice(0, at) + (secret[at] === 'x' ? 'y' : 'x') + secret.slice(at + 1);
  });
  const cut = [1, 2, 6, 7, 20, 49, 50, secret.length - 4].map((count) => secret.slice(0, -count));
  return [
    ...minted,
    ...guessed,
    ...changed,
    ...cut,
    ...KINDS.filter((each) => each !== kind).map((each) => `svc_${each}_${id}_${rest}`),
    `${secret}x`,
    `${secret}=`,
    `x${secret}`,
    `${secret}${secret}`,
    secret.toUpperCase(),
    secret.toLowerCase(),
    `svc_${kind}_${id}_`,
    `svc_${kind}__${rest}`,
    `svc_${kind}_${id.toLowerCase()}_${rest}`,
    `svc_${kind}_${id}_${[...rest].reverse().join('')}`,
    `"${secret}"`,
    `'${secret}'`,
    `${secret.slice(0, 20)} ${secret.slice(20)}`,
    secret.replaceAll('_', '-'),
    secret.replaceAll('_', '%5F'),
    `${secret}\t`.trim().replace('_', '\t'),
    `${secret}\u00a0`,
    `${secret}\u0000`,
    secret.replace('s', 'ſ'),
    `${secret};x`,
    `${secret},`,
    'undefined',
    'null',
    'true',
    '0',
    '{}',
    '*',
    '__proto__',
    `svc_${kind}_constructor_${rest}`,
    `svc_${kind}_../${id}_${rest}`,
  ].filter((forged) => forged !== secret);
}

interface Parts {
  readonly header: Record<string, unknown>;
  readonly payload: Record<string, unknown>;
  readonly signature: string;
}

const encode = (json: unknown): string => Buffer.from(JSON.stringify(json)).toString('base64url');
const decode = (text = ''): Record<string, unknown> =>
  JSON.parse(Buffer.from(text, 'base64url').toString('utf8'));

/**
 * Forgeries of an access token: other algorithms, other keys, other claims under the old signature.
 */
export async function forgedTokens(arena: Arena, token: string, victim: Tenant): Promise<string[]> {
  const [head, body, signature = ''] = token.split('.');
  const parts: Parts = { header: decode(head), payload: decode(body), signature };
  const jwks = await arena.target.wire.send(getRequest(arena, '/.well-known/jwks.json', []));
  const own = await generateKeyPair('EdDSA', { extractable: true });
  const ownJwk = await exportJWK(own.publicKey);
  const signedByUs = (header: object) =>
    new SignJWT(parts.payload)
      .setProtectedHeader({ ...parts.header, alg: 'EdDSA', ...header })
      .sign(own.privateKey);
  const [key = {}] = (JSON.parse(jwks.text) as { keys: Record<string, string>[] }).keys;
  const hmacKeys = [
    jwks.text,
    JSON.stringify(key),
    key.x ?? '',
    Buffer.from(key.x ?? '', 'base64url'),
    '',
  ];
  const { iss, exp } = parts.payload;
  const claims: readonly Record<string, unknown>[] = [
    { aud: victim.project },
    { aud: [parts.payload.aud, victim.project] },
    { sub: victim.names.CiConnection.split('/').at(-1) },
    { exp: Number(exp) + 3600 },
    { exp: undefined },
    { token_epoch: 2 },
    { token_epoch: undefined },
    { iss: `${iss}/` },
    { jti: 'x' },
    { nbf: 0 },
    { client_id: 'x' },
    { capabilities: ['monitoring.write'] },
    { scope: 'monitoring.write' },
  ];
  return [
    ...claims.map((change) => `${head}.${encode({ ...parts.payload, ...change })}.${signature}`),
    ...['none', 'None', 'NONE', 'nOnE', '', null].flatMap((alg) => {
      const unsigned = `${encode({ ...parts.header, alg })}.${body}`;
      return [`${unsigned}.`, `${unsigned}.${signature}`, unsigned];
    }),
    ...hmacKeys.map((secret) => {
      const signed = `${encode({ ...parts.header, alg: 'HS256' })}.${body}`;
      return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`;
    }),
    await signedByUs({}),
    await signedByUs({ jwk: ownJwk }),
    await signedByUs({ jwk: ownJwk, kid: undefined }),
    await signedByUs({ jku: 'http://127.0.0.1:1/jwks' }),
    await signedByUs({ x5u: 'http://127.0.0.1:1/x' }),
    await signedByUs({ kid: '../../../dev/null' }),
    ...['typ', 'kid', 'alg'].map(
      (name) => `${encode({ ...parts.header, [name]: 'x' })}.${body}.${signature}`,
    ),
    `${encode({ ...parts.header, crit: ['exp'] })}.${body}.${signature}`,
    ...oddTokens(token),
  ];
}

/** Truncated, with a changed signature, and reassembled. */
function oddTokens(token: string): string[] {
  const [head, body, signature = ''] = token.split('.');
  return [
    ...[1, 10, 40].map((count) => token.slice(0, -count)),
    // Not the very last letter: four of its bits are not part of the signature.
    ...[3, 30, 60].map(
      (at) =>
        `${head}.${body}.${signature.slice(0, at)}${signature[at] === 'A' ? 'B' : 'A'}${signature.slice(at + 1)}`,
    ),
    `${head}.${body}`,
    `${head}..${signature}`,
    `.${body}.${signature}`,
    '..',
    `${token}.${signature}`,
    `${token}.x`,
    `${body}.${head}.${signature}`,
    token.toUpperCase(),
    token.replace('.', '..'),
    `${head}.${body}.${Buffer.alloc(64).toString('base64url')}`,
  ];
}
