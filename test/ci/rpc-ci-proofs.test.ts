/** Proofs as the reviewer sees them, and attempts that prove nothing. */
import { test } from 'tap';
import { PROJECT_NAME, reads, startCiRpcWorld } from '../support/ci-api.ts';

const MINUTE_MS = 60_000;

test('A reviewer sees a rejected proof without any part of the token', async (t) => {
  const world = await startCiRpcWorld(t);
  const { setupId, pairingCode, verification } = (await world.start()).body;
  const displayed = async () =>
    (await world.ci('GetCiVerification', { name: verification.name })).body as {
      readonly lastRefusal?: object;
      readonly issuerUrl: string;
    };
  t.notOk('lastRefusal' in (await displayed()));
  t.equal((await displayed()).issuerUrl, world.platform.url);
  const submit = async (claims: object) => {
    const proof = { setupId, pairingCode, assertion: await world.mint({ ...claims }) };
    return world.anonymous('SubmitCiVerification', proof);
  };
  t.match(await submit({ event_name: 'pull_request' }), { status: 403 });
  const refused = { code: 'PULL_REQUEST', refusedUnix: /^\d+$/, claims: ['event_name'] };
  t.match(await displayed(), { state: 'AWAITING_PROOF', lastRefusal: refused });
  await world.clock.advance(MINUTE_MS);
  t.match(await submit({ aud: 'https://elsewhere.example' }), { status: 401 });
  const { body } = await world.ci('ListCiVerifications', { projectName: PROJECT_NAME });
  t.match(body.verifications[0].lastRefusal, {
    code: 'BAD_ASSERTION WRONG_AUDIENCE',
    claims: [],
  });
});

test('AUTH-11: a dashboard sign-in with the CI platform’s account authorizes no workflow', async (t) => {
  const world = await startCiRpcWorld(t);
  const { owner } = world;
  const trustName = await world.connect();
  const unverified = { repository_id: '75', repository: 'octo-org/other', actor: 'olga' };
  const other = {
    ...unverified,
    workflow_ref: 'octo-org/other/.github/workflows/deploy.yml@refs/heads/main',
    job_workflow_ref: 'octo-org/other/.github/workflows/deploy.yml@refs/heads/main',
  };
  const exchange = async (name: string, options: object) => {
    const assertion = await world.mint(other);
    return world.anonymous('ExchangeCiToken', { trustName: name, assertion }, options);
  };
  const made = `${PROJECT_NAME}/ciConnections/01ARZ3NDEKTSV4RRFFQ69G5FAV`;
  for (const name of [trustName, made]) {
    for (const options of [{}, { person: owner }]) {
      t.match(
        await exchange(name, options),
        { status: 403, metadata: { cause: 'IDENTITY_MISMATCH' } },
        'for a workflow of the signed-in person, with or without the session',
      );
    }
  }
  // A platform's statement about a signed-in person does not prove a workflow either.
  const person = await world.platform.mint({ aud: 'dashboard', email: 'olga@example.test' });
  const signIn = { trustName, assertion: person };
  t.match(await world.anonymous('ExchangeCiToken', signIn, { person: owner }), {
    status: 401,
    reason: 'BAD_ASSERTION',
    metadata: { cause: 'WRONG_AUDIENCE' },
  });
  const job = await world.platform.mint({ aud: world.audience });
  t.equal(await reads(world, job), 'MALFORMED_CREDENTIAL', 'nor is a job’s token a credential');
  t.equal(
    (await world.ci('ListCiConnections', { projectName: PROJECT_NAME })).body.connections.length,
    1,
  );
});
