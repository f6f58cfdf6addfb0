/**
 * `npm run ci-issuer [-- --port N]`: a CI platform on this machine, to try keyless CI. It gives any
 * caller on loopback the identity token of one made-up workflow, in GitHub's form, and ends with
 * Ctrl-C. Its key is new at each start. docs/ci.md has the steps.
 *
 * Never name it in `SVC_CI_ISSUERS` of a service that other people use.
 */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parseArgs } from 'node:util';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';

const { values } = parseArgs({ options: { port: { type: 'string', default: '9080' } } });
const server = createServer();
server.listen(Number(values.port), '127.0.0.1');
await once(server, 'listening').catch(({ message }: Error) => {
  process.stderr.write(`${message}. Choose another port with --port\n`);
  process.exit(1);
});
const { port } = server.address() as AddressInfo;
const origin = `http://127.0.0.1:${port}`;
const { privateKey, publicKey } = await generateKeyPair('RS256');
const kid = randomUUID();
const jwk = { ...(await exportJWK(publicKey)), kid, use: 'sig', alg: 'RS256' };

const WORKFLOW = 'octo-org/octo-repo/.github/workflows/deploy.yml@refs/heads/main';
const COMMIT = '5f8d3c1b2a0e9f7d6c5b4a39281706f5e4d3c2b1';

/** The claims of a GitHub token for a push to the branch main, without an environment. */
const claims = {
  sub: 'repo:octo-org@65/octo-repo@74:ref:refs/heads/main',
  event_name: 'push',
  ref: 'refs/heads/main',
  ref_type: 'branch',
  ref_protected: 'true',
  sha: COMMIT,
  head_ref: '',
  base_ref: '',
  actor: 'octocat',
  actor_id: '12',
  repository: 'octo-org/octo-repo',
  repository_id: '74',
  repository_visibility: 'private',
  repository_owner: 'octo-org',
  repository_owner_id: '65',
  workflow: 'deploy',
  workflow_ref: WORKFLOW,
  workflow_sha: COMMIT,
  job_workflow_ref: WORKFLOW,
  job_workflow_sha: COMMIT,
  runner_environment: 'github-hosted',
  run_id: '22259804324',
  run_number: '10',
  run_attempt: '1',
  check_run_id: '90000001',
};

function mint(audience: string): Promise<string> {
  return new SignJWT({ ...claims, jti: randomUUID() })
    .setProtectedHeader({ typ: 'JWT', alg: 'RS256', kid })
    .setIssuer(origin)
    .setAudience(audience)
    .setIssuedAt()
    .setNotBefore('10 minutes ago')
    .setExpirationTime('5 minutes')
    .sign(privateKey);
}

const documents: Readonly<Record<string, unknown>> = {
  '/.well-known/openid-configuration': { issuer: origin, jwks_uri: `${origin}/keys` },
  '/keys': { keys: [jwk] },
};

server.on('request', async (request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? '/', origin);
  const audience = searchParams.get('audience');
  const isToken = pathname === '/token' && audience !== null;
  const answer = isToken ? { value: await mint(audience) } : documents[pathname];
  response.writeHead(answer ? 200 : 404, { 'content-type': 'application/json' });
  response.end(JSON.stringify(answer ?? { message: 'Try /token?audience=URL' }));
});
process.stdout.write(
  `A CI platform for experiments, at ${origin}. Ctrl-C ends it.\n\n` +
    `The service:  SVC_CI_ISSUERS=try=github@${origin} npm start\n` +
    `A job:        export ACTIONS_ID_TOKEN_REQUEST_URL='${origin}/token?' ACTIONS_ID_TOKEN_REQUEST_TOKEN=try\n`,
);
