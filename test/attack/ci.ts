/**
 * Keyless CI: an identity token opens a connection only if it has exactly the approved claims.
 * Every claim is changed in every way, one at a time; algorithms, keys, headers, times and
 * audiences are forged; tokens are replayed and pairing codes guessed.
 */
import { type Arena, attempt, inParallel, rpcRequest } from './arena.ts';
import {
  type CiTry,
  changedClaims,
  mint,
  oddTimes,
  otherEvents,
  otherTrusts,
} from './ci-claims.ts';
import { oddForms, otherAlgorithms, otherIssuers, otherKeys, rawPayloads } from './ci-forgeries.ts';
import { forgedSecrets } from './forgeries.ts';
import { Api } from './tenants.ts';
import type { WireAnswer } from './wire.ts';

const IAM = '/svc.iam.v1.AutomationService/';
const WIDTH = 8;
/** Few sources: each of them stays below the failures that one address may have. */
const SOURCES = 8;

function sourceOf(number: number): string {
  return `127.0.3.${1 + (number % SOURCES)}`;
}

export async function attackCi(arena: Arena): Promise<void> {
  // An address that has succeeded once is exempt from the common bound on failures of unknown
  // addresses.
  for (let number = 0; number < SOURCES; number++) await control(arena, number);
  const tries = [
    ...(await changedClaims(arena)),
    ...(await otherEvents(arena)),
    ...(await otherAlgorithms(arena)),
    ...(await otherKeys(arena)),
    ...(await oddForms(arena)),
    ...(await oddTimes(arena)),
    ...(await otherIssuers(arena)),
    ...(await rawPayloads(arena)),
    ...(await otherTrusts(arena)),
  ];
  await inParallel(
    tries,
    WIDTH,
    async (one, number) => void (await exchange(arena, one, undefined, number)),
  );
  await tryReplay(arena);
  await tryPairingCodes(arena);
  await control(arena, 0);
}

async function control(arena: Arena, number: number): Promise<void> {
  const one = { name: 'control', assertion: await mint(arena) };
  const accepted = ({ status }: WireAnswer) =>
    status === 200 ? undefined : `the real token got ${status}`;
  await exchange(arena, one, accepted, number);
}

function exchange(
  arena: Arena,
  { name, assertion, trustName, mayBeAccepted = false }: CiTry,
  judge?: (answer: WireAnswer) => string | undefined,
  number = 0,
): Promise<WireAnswer> {
  const body = { trustName: trustName ?? arena.attacker.names.CiConnection, assertion };
  const refused = ({ status }: WireAnswer) => {
    if ([400, 401, 403].includes(status) || (mayBeAccepted && status === 200)) return undefined;
    return `answered ${status}`;
  };
  const request = rpcRequest(arena, `${IAM}ExchangeCiToken`, body, []);
  return attempt(arena, name, request, judge ?? refused, { source: sourceOf(number) });
}

/** A token works once, even if eight requests present it concurrently. */
async function tryReplay(arena: Arena): Promise<void> {
  for (let round = 0; round < 5; round++) {
    const assertion = await mint(arena);
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, i) =>
        exchange(
          arena,
          { name: 'eight concurrent uses', assertion, mayBeAccepted: true },
          undefined,
          i,
        ),
      ),
    );
    const accepted = answers.filter(({ status }) => status === 200).length;
    arena.tally.record({
      name: 'one of eight uses',
      why: accepted <= 1 ? undefined : `${accepted} were accepted`,
    });
    await exchange(arena, { name: 'shown again', assertion });
  }
}

/** Guessed codes lock out the guesser, not the holder of the real code, which works once. */
async function tryPairingCodes(arena: Arena): Promise<void> {
  const { attacker, dice, target } = arena;
  const api = new Api(target);
  const started = await api.change(
    'iam.v1.AutomationService/StartCiVerification',
    {
      serviceAccountName: attacker.names.ServiceAccount,
      displayName: 'Guessed',
      capabilities: ['monitoring.read'],
    },
    attacker.credentials.owner,
  );
  const { setupId, pairingCode, audience: aud } = started;
  const ref = `${attacker.ci.claims.repository}/.github/workflows/guessed.yml@refs/heads/main`;
  const submit = async (
    code: string,
    name: string,
    judge: (answer: WireAnswer) => string | undefined,
    number: number,
  ) => {
    const assertion = await mint(arena, { aud, workflow_ref: ref, job_workflow_ref: ref });
    const request = rpcRequest(
      arena,
      `${IAM}SubmitCiVerification`,
      { setupId, pairingCode: code, assertion },
      [],
    );
    await attempt(arena, name, request, judge, { source: `127.0.4.${1 + number}` });
  };
  const refused = ({ status }: WireAnswer) =>
    [400, 401, 403, 404].includes(status) ? undefined : `answered ${status}`;
  for (const [number, code] of forgedSecrets(pairingCode, dice).entries()) {
    // Few guesses per source: a lockout would say nothing about the guess.
    await submit(code, `guessed code ${JSON.stringify(code)}`, refused, Math.floor(number / 3));
  }
  await submit(
    pairingCode,
    'the real code after all guesses',
    ({ status, text }) =>
      status === 200 ? undefined : `the holder of the real code is locked out: ${status} ${text}`,
    190,
  );
  await submit(pairingCode, 'the real code a second time', refused, 191);
}
