/**
 * Good credentials in the wrong place: in other headers, in the URL, beside another one, in a
 * cookie from another site's page.
 */
import { type Arena, attempt, rpcRequest, sourceOf } from './arena.ts';
import { doors, refused } from './doors.ts';
import type { Header } from './wire.ts';

/** Values of Authorization that contain a good key but are invalid. */
function notBearers(key: string, other: string): string[] {
  return [
    `Bearer ${key}, Bearer ${other}`,
    `Bearer ${key},${key}`,
    `Bearer ${key};`,
    `Bearer "${key}"`,
    `Bearer ${key} x`,
    `Basic ${Buffer.from(`:${key}`).toString('base64')}`,
    `Basic ${key}`,
    `Token ${key}`,
    `ApiKey ${key}`,
    `Bearer:${key}`,
    `Bearer=${key}`,
    key,
    `${key} Bearer`,
    `Bearer Bearer ${key}`,
    `Digest ${key}`,
    `Negotiate ${key}`,
    `Bearer\u00a0${key}`,
    `Bearer ${key}\u00a0`,
    `BearerX ${key}`,
    `Bearer ${key.replaceAll('_', '%5F')}`,
    `Bearer ${Buffer.from(key).toString('base64')}`,
    'Bearer',
    '',
  ];
}

const OTHER_HEADERS = [
  'x-api-key',
  'proxy-authorization',
  'x-authorization',
  'x-forwarded-authorization',
  'api-key',
  'svc-api-key',
  'x-auth-token',
  'token',
];
const COOKIES = ['authorization', 'svc_session', '__Host-svc_session', 'token', 'session'];
const PARAMETERS = [
  'access_token',
  'authorization',
  'key',
  'api_key',
  'token',
  'bearer',
  'svc_session',
];

/** A good key in the wrong place, or beside another one. */
export async function tryHeaders(arena: Arena): Promise<void> {
  const { attacker, victim, target } = arena;
  const { readKey: key = '', ownerSession, pairingCode, webhookSecret } = attacker.secrets;
  const theirs = victim.secrets.readKey ?? '';
  const bearer = (secret: string | undefined): Header => ['authorization', `Bearer ${secret}`];
  const sets: readonly (readonly Header[])[] = [
    [bearer(key), bearer(theirs)],
    [bearer(theirs), bearer(key)],
    [bearer(key), ['Authorization', `Bearer ${key}x`]],
    ...notBearers(key, theirs).map((value): readonly Header[] => [['authorization', value]]),
    ...OTHER_HEADERS.flatMap((name): (readonly Header[])[] => [
      [[name, key]],
      [[name, `Bearer ${key}`]],
    ]),
    ...COOKIES.map((name): readonly Header[] => [
      ['cookie', `${name}=${key}`],
      ['origin', target.origin],
    ]),
    ...[ownerSession, pairingCode, webhookSecret].map((secret) => [bearer(secret)]),
  ];
  for (const [number, headers] of sets.entries()) {
    for (const request of doors(arena, headers)) {
      const name = `headers ${JSON.stringify(headers)} at ${request.path}`;
      const options = { source: sourceOf(number), isLast: true };
      await attempt(arena, name, request, refused, options);
    }
  }
  for (const name of PARAMETERS) await tryParameter(arena, name, key);
}

async function tryParameter(arena: Arena, name: string, key: string): Promise<void> {
  for (const request of doors(arena, [])) {
    const path = `${request.path}${request.path.includes('?') ? '&' : '?'}${name}=${key}`;
    await attempt(arena, `${name} in the URL`, { ...request, path }, refused);
  }
  const body = { projectName: arena.attacker.project, [name]: key };
  const request = rpcRequest(arena, '/svc.monitoring.v1.AlertService/ListAlertRules', body, []);
  await attempt(arena, `${name} in the body`, request, refused);
}

/** Other origins, written as similarly to the service's own as possible. */
function otherOrigins(origin: string): string[] {
  const { port } = new URL(origin);
  return [
    'null',
    '',
    'https://evil.example',
    `${origin}.evil.example`,
    `${origin}/`,
    `${origin}/x`,
    origin.replace('http', 'https'),
    `http://localhost:${port}`,
    'http://127.0.0.1',
    '*',
    `http://127.0.0.1:${Number(port) + 1}`,
    `http://127.1:${port}`,
    'file://',
    'about:blank',
    `http://user@127.0.0.1:${port}`,
    `${origin}, ${origin}`,
    ` ${origin} x`,
    origin.toUpperCase(),
    `http://[::ffff:127.0.0.1]:${port}`,
  ];
}

/** A session is accepted only from a page of the service itself. */
export async function tryCookies(arena: Arena): Promise<void> {
  const { attacker, victim, target } = arena;
  const { origin } = target;
  const [[, cookie] = ['', ''], [, theirs] = ['', '']] = [
    attacker.credentials.owner[0],
    victim.credentials.owner[0],
  ];
  const own: Header = ['origin', origin];
  const sets: readonly (readonly Header[])[] = [
    [['cookie', cookie]],
    ...otherOrigins(origin).map((value): readonly Header[] => [
      ['cookie', cookie],
      ['origin', value],
    ]),
    [['cookie', cookie], own, ['origin', 'https://evil.example']],
    [['cookie', `${cookie}; ${theirs}`], own],
    [['cookie', `${theirs}; ${cookie}`], own],
    [['cookie', cookie.replace('svc_session=', '__Host-svc_session=')], own],
    [['cookie', cookie.replace('svc_session=', 'SVC_SESSION=')], own],
    [['x-cookie', cookie], own],
    [
      ['cookie', cookie],
      ['referer', `${origin}/`],
    ],
    [
      ['cookie', cookie],
      ['x-forwarded-host', new URL(origin).host],
    ],
  ];
  const calls: readonly (readonly [string, object])[] = [
    ['/svc.project.v1.ProjectService/GetSelf', {}],
    ['/svc.project.v1.ProjectService/ListMembers', { projectName: attacker.project }],
    ['/svc.iam.v1.AutomationService/ListServiceAccounts', { projectName: attacker.project }],
  ];
  for (const headers of sets) {
    for (const [path, body] of calls) {
      const name = `${path} with ${JSON.stringify(headers).slice(0, 200)}`;
      await attempt(arena, name, rpcRequest(arena, path, body, headers), refused, { isLast: true });
    }
  }
}
