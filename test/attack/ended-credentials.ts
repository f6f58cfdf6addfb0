/**
 * Credentials that once worked: expired, revoked, rotated away, of a disabled or deleted account,
 * of a connection with changed permissions, of an ended session, and used links. Each is used
 * successfully once before its end.
 */
import type { Arena } from './arena.ts';
import { Api, type Tenant } from './tenants.ts';
import type { Header } from './wire.ts';

export interface EndedCredential {
  readonly name: string;
  readonly headers: readonly Header[];
  /** A cookie, which only the API accepts. */
  readonly isHuman: boolean;
}

const IAM = 'iam.v1.AutomationService/';
const PEOPLE = 'project.v1.ProjectService/';
const bearer = (secret: string): readonly Header[] => [['authorization', `Bearer ${secret}`]];

export async function endedCredentials(arena: Arena): Promise<EndedCredential[]> {
  const api = new Api(arena.target);
  const ended: EndedCredential[] = [];
  const { attacker } = arena;
  const { owner } = attacker.credentials;
  const proven = async (headers: readonly Header[]) =>
    api.call(
      'monitoring.v1.AlertService/ListAlertRules',
      { projectName: attacker.project },
      headers,
    );
  const add = (name: string, headers: readonly Header[], isHuman = false) =>
    void ended.push({ name, headers, isHuman });

  const account = await newAccount(api, attacker);
  const key = (lifetimeSeconds?: number) =>
    api.change(
      `${IAM}CreateKey`,
      {
        parent: account,
        displayName: 'k',
        capabilities: ['monitoring.read'],
        ...(lifetimeSeconds && { lifetimeSeconds }),
      },
      owner,
    );
  const revoked = await key();
  await proven(bearer(revoked.secret));
  await api.change(`${IAM}RevokeKey`, { name: revoked.key.name, reason: 'x' }, owner);
  add('a revoked key', bearer(revoked.secret));

  const rotated = await key();
  await proven(bearer(rotated.secret));
  await api.change(`${IAM}RotateKey`, { name: rotated.key.name, overlapSeconds: 0 }, owner);
  add('a key that was rotated away', bearer(rotated.secret));

  const ofDisabled = await key();
  await proven(bearer(ofDisabled.secret));
  await api.change(`${IAM}DisableServiceAccount`, { name: account, reason: 'x' }, owner);
  add('a key of a disabled account', bearer(ofDisabled.secret));

  const gone = await newAccount(api, attacker);
  const ofGone = await api.change(
    `${IAM}CreateKey`,
    { parent: gone, displayName: 'k', capabilities: ['monitoring.read'] },
    owner,
  );
  await proven(bearer(ofGone.secret));
  await api.change(`${IAM}DeleteServiceAccount`, { name: gone }, owner);
  add('a key of a deleted account', bearer(ofGone.secret));

  for (const [name, headers] of await endedPeople(arena, api, proven)) add(name, headers, true);
  for (const [name, headers] of await endedTokens(arena, api, proven)) add(name, headers);
  const short = await shortKey(arena, api);
  if (short) add('an expired key', bearer(short));
  return ended;
}

async function newAccount(api: Api, { project, credentials }: Tenant): Promise<string> {
  const body = { projectName: project, displayName: 'Ending', capabilities: ['monitoring.read'] };
  return (await api.change(`${IAM}CreateServiceAccount`, body, credentials.owner)).name;
}

type Proven = (headers: readonly Header[]) => Promise<unknown>;

async function endedPeople(
  arena: Arena,
  api: Api,
  proven: Proven,
): Promise<[string, readonly Header[]][]> {
  const { attacker, target } = arena;
  const { owner } = attacker.credentials;
  const invite = async (whom: string) => {
    const body = {
      projectName: attacker.project,
      email: `${attacker.canary}-${whom}@example.test`,
      role: 'EDITOR',
    };
    return (await api.change(`${PEOPLE}InviteMember`, body, owner)).link as string;
  };
  const leaving = await api.signIn(await invite('leaving'));
  await proven(leaving.headers);
  await api.post('/auth/logout', {}, [...leaving.headers, ['accept', 'application/json']]);
  const removed = await api.signIn(await invite('removed'));
  await proven(removed.headers);
  const [project] = (await api.call(`${PEOPLE}ListProjects`, {}, removed.headers)).projects;
  await api.change(`${PEOPLE}RemoveMember`, { name: project.memberName }, owner);
  const everywhere = await api.signIn(await invite('everywhere'));
  await proven(everywhere.headers);
  await api.change(`${PEOPLE}SignOutEverywhere`, {}, everywhere.headers);
  const link = await invite('once');
  await api.signIn(link);
  const again = await api.signIn(link).then(
    () => true,
    () => false,
  );
  arena.tally.record({
    name: 'a used invitation',
    why: again ? 'it was accepted twice' : undefined,
  });
  const locked = await api.signIn(await invite('locked'));
  await proven(locked.headers);
  const { name: person } = await api.call(`${PEOPLE}GetSelf`, {}, locked.headers);
  await target.admin('people', 'disable', person);
  return [
    ['a signed-out session', leaving.headers],
    ['a session of a removed member', removed.headers],
    ['a session after sign-out everywhere', everywhere.headers],
    ['a session of a locked-out user', locked.headers],
  ];
}

/** Connections of their own, so that ending them affects no other try. */
async function endedTokens(
  arena: Arena,
  api: Api,
  proven: Proven,
): Promise<[string, readonly Header[]][]> {
  const { attacker, target } = arena;
  const { owner } = attacker.credentials;
  const token = async (workflow: string) => {
    const account = await newAccount(api, attacker);
    const capabilities = ['monitoring.read'];
    const started = await api.change(
      `${IAM}StartCiVerification`,
      { serviceAccountName: account, displayName: 'c', capabilities },
      owner,
    );
    const { setupId, pairingCode, audience: aud } = started;
    const ref = `${attacker.ci.claims.repository}/.github/workflows/${workflow}.yml@refs/heads/main`;
    const claims = { ...attacker.ci.claims, workflow_ref: ref, job_workflow_ref: ref, aud };
    await api.call(
      `${IAM}SubmitCiVerification`,
      { setupId, pairingCode, assertion: await target.platform.mint(claims) },
      [],
    );
    const { name } = started.verification;
    const { claimsDigest } = await api.call(`${IAM}GetCiVerification`, { name }, owner);
    const { name: trustName } = await api.change(
      `${IAM}ApproveCiVerification`,
      { name, claimsDigest, displayName: 'c', capabilities },
      owner,
    );
    const { accessToken } = await api.call(
      `${IAM}ExchangeCiToken`,
      { trustName, assertion: await target.platform.mint(claims) },
      [],
    );
    await proven(bearer(accessToken));
    return { trustName, account, headers: bearer(accessToken) };
  };
  const disabled = await token('disabled');
  await api.change(`${IAM}DisableCiConnection`, { name: disabled.trustName, reason: 'x' }, owner);
  const deleted = await token('deleted');
  await api.change(`${IAM}DeleteCiConnection`, { name: deleted.trustName }, owner);
  const edited = await token('edited');
  await api
    .change(
      `${IAM}UpdateCiConnection`,
      { name: edited.trustName, capabilities: { values: [] } },
      owner,
    )
    .catch(() => {});
  await api.change(`${IAM}DisableCiConnection`, { name: edited.trustName, reason: 'x' }, owner);
  await api.change(`${IAM}EnableCiConnection`, { name: edited.trustName }, owner);
  const orphan = await token('orphan');
  await api.change(`${IAM}DisableServiceAccount`, { name: orphan.account, reason: 'x' }, owner);
  return [
    ['a token of a disabled connection', disabled.headers],
    ['a token of a deleted connection', deleted.headers],
    ['a token from before its connection was disabled and enabled', edited.headers],
    ['a token of a disabled account', orphan.headers],
  ];
}

/** A key that expires after a second, if the service makes one so short. Waits for its expiry. */
async function shortKey({ attacker }: Arena, api: Api): Promise<string | undefined> {
  const account = await newAccount(api, attacker);
  const body = {
    parent: account,
    displayName: 'k',
    capabilities: ['monitoring.read'],
    lifetimeSeconds: 1,
  };
  const made = await api
    .change(`${IAM}CreateKey`, body, attacker.credentials.owner)
    .catch(() => undefined);
  if (!made) return undefined;
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  return made.secret;
}
