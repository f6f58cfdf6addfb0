/**
 * Sessions without a recent sign-in: one that the provider began without saying when the person
 * signed in there, as a stolen cookie or a browser left open would be. It must not make access that
 * outlasts it, whatever the request claims. The same actions succeed with a recent session.
 */
import { randomUUID } from 'node:crypto';
import { type Arena, attempt, getRequest, rpcRequest } from './arena.ts';
import { reasonOf } from './judge.ts';
import { Api } from './tenants.ts';
import type { Header, WireAnswer } from './wire.ts';

const IAM = '/svc.iam.v1.AutomationService/';
const PEOPLE = '/svc.project.v1.ProjectService/';
/** The provider of the target vouches for this address. */
const PROVIDER_EMAIL = 'no@example.test';

/** A request that makes lasting access. */
interface LastingAccess {
  readonly path: string;
  readonly body: object;
}

export async function attackOldSignIns(arena: Arena): Promise<void> {
  const { attacker, target } = arena;
  const api = new Api(target);
  const { id } = attacker;
  await target.admin('invite', id, PROVIDER_EMAIL, '--role', 'OWNER');
  const old = await signInByProvider(arena);
  const { owner } = attacker.credentials;
  const [own] = (await api.call('project.v1.ProjectService/ListProjects', {}, old)).projects;
  const actions = lastingAccess(arena, own.memberName);
  for (const { path, body } of actions) {
    for (const [name, headers] of disguises(old)) {
      const request = rpcRequest(arena, path, { requestId: randomUUID(), ...body }, headers);
      await attempt(arena, `an old sign-in, ${name}, at ${path}`, request, tooOld);
    }
  }
  for (const { path, body } of actions.filter((action) => !action.path.includes('Approve'))) {
    const ownBody = { ...body, ...(path.endsWith('Key') && { parent: attacker.names.Member }) };
    const request = rpcRequest(arena, path, { requestId: randomUUID(), ...ownBody }, owner);
    await attempt(arena, `control: a recent sign-in at ${path}`, request, accepted);
  }
  await tryCommandLine(arena, old);
  const invitation = await ownInvitation(arena, owner);
  await attempt(arena, 'the own invitation', invitation, refusedOwn);
}

function lastingAccess({ attacker }: Arena, member: string): readonly LastingAccess[] {
  const { project, canary } = attacker;
  const email = `${canary}-old@example.test`;
  const key = { parent: member, displayName: 'k', capabilities: ['monitoring.read'] };
  return [
    { path: `${IAM}CreateKey`, body: key },
    { path: `${PEOPLE}InviteMember`, body: { projectName: project, email, role: 'OWNER' } },
    { path: `${PEOPLE}InviteMember`, body: { projectName: project, email, role: 'VIEWER' } },
    {
      path: `${IAM}ApproveCiVerification`,
      body: { name: `${project}/ciVerifications/v`, displayName: 'c', capabilities: [] },
    },
  ];
}

/** The session as it is, and with headers that other systems take for a proof. */
function disguises(headers: readonly Header[]): readonly (readonly [string, readonly Header[]])[] {
  const claims: readonly Header[] = [
    ['x-auth-time', String(Math.floor(Date.now() / 1000))],
    ['x-forwarded-user', 'owner'],
  ];
  return [
    ['as it is', headers],
    ['with claims in headers', [...headers, ...claims]],
  ];
}

/** A session that the provider of the target begins; it sends no `auth_time`. */
async function signInByProvider(arena: Arena): Promise<readonly Header[]> {
  const { target } = arena;
  const locationIn = ({ headers }: WireAnswer) => new URL(headers.get('location') ?? '');
  const cookieIn = ({ headers }: WireAnswer, name: RegExp) =>
    name.exec(headers.get('set-cookie') ?? '')?.[0] ?? '';
  // On loopback, pages have a host name of their own, to which they redirect.
  const { host } = locationIn(await target.wire.send(getRequest(arena, '/auth/login', [])));
  const page = (path: string, headers: readonly Header[] = []) =>
    target.wire.send({ method: 'GET', path, headers: [['host', host], ...headers] });
  const begun = await page('/auth/login');
  const there = await fetch(locationIn(begun), { redirect: 'manual' });
  const { pathname, search } = new URL(there.headers.get('location') ?? '');
  const login = cookieIn(begun, /svc_login_[^;]+/);
  const back = await page(pathname + search, [['cookie', login]]);
  const session = cookieIn(back, /svc_session=[^;]+/);
  if (session === '') throw new Error(`/auth/callback: ${back.status} ${back.text}`);
  return [
    ['cookie', session],
    ['origin', target.origin],
  ];
}

/** A command line that an old session confirms would be recent for 30 days. */
async function tryCommandLine(arena: Arena, old: readonly Header[]): Promise<void> {
  const body = { port: '40000', state: 's'.repeat(32), challenge: 'c'.repeat(43) };
  const request = rpcRequest(arena, '/auth/cli', body, old);
  await attempt(arena, 'an old sign-in at /auth/cli', request, tooOld);
}

/** Accepts, as the owner, an invitation that the owner has made. */
async function ownInvitation(arena: Arena, owner: readonly Header[]) {
  const { attacker, target } = arena;
  const { link } = await new Api(target).change(
    'project.v1.ProjectService/InviteMember',
    { projectName: attacker.project, email: `${attacker.canary}-me@example.test`, role: 'VIEWER' },
    owner,
  );
  const token = /svc_inv_\w+/.exec(String(link))?.[0] ?? '';
  return rpcRequest(arena, '/auth/link', { token }, owner);
}

function tooOld(answer: WireAnswer): string | undefined {
  if (answer.status === 403 && reasonOf(answer) === 'SIGN_IN_TOO_OLD') return undefined;
  return `answered ${answer.status} ${reasonOf(answer) ?? ''} instead of SIGN_IN_TOO_OLD`;
}

function refusedOwn(answer: WireAnswer): string | undefined {
  const isRefused = answer.status === 400 && reasonOf(answer) === 'INVALID_STATE';
  if (isRefused && !answer.headers.has('set-cookie')) return undefined;
  return `answered ${answer.status} ${reasonOf(answer) ?? ''}, or with a new session`;
}

function accepted({ status, text }: WireAnswer): string | undefined {
  return status === 200 ? undefined : `the recent one got ${status} ${text}`;
}
