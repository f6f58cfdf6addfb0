/**
 * Keyless CI in the busy project: a connection with exchanges and refusals, one that is disabled, and
 * an observation that waits for review. The CI platform is a stand-in on the loopback.
 */
import { randomUUID } from 'node:crypto';
import { type CiIssuer, type ClaimChanges, startCiIssuer } from '../ci-issuer.ts';
import { type Program, until } from '../program.ts';
import { bodyOf, type Person } from './people.ts';

const IAM = 'iam.v1.AutomationService';
/** Claims of a connection whose refusals can name a missing claim, not only a different one. */
const IN_ENTERPRISE = { enterprise_id: '7' };

type Scope = { teardown(end: () => unknown): unknown };

/** Starts the platform that the service is to trust by `setting`. It ends with the scope. */
export async function startPlatform(scope: Scope): Promise<CiIssuer> {
  const platform = await startCiIssuer();
  scope.teardown(() => platform.close());
  return platform;
}

export async function trustWorkflows(
  platform: CiIssuer,
  { demo }: Program,
  owner: Person,
  markup: (text: string) => string,
): Promise<void> {
  const { projectName, baseUrl } = demo;
  const change = (method: string, request: object) =>
    owner.call(`${IAM}/${method}`, { requestId: randomUUID(), ...request });
  // A job sends no key: an Authorization header would be refused.
  const asJob = async (method: string, request: object) => {
    const answer = await fetch(`${baseUrl}/svc.${IAM}/${method}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'connect-protocol-version': '1' },
      body: JSON.stringify(request),
    });
    return { status: answer.status, body: JSON.parse(await answer.text()) };
  };
  const mint = (claims: ClaimChanges) =>
    platform.mint({ aud: `${baseUrl}/${projectName}`, workflow: markup('deploy'), ...claims });
  const { name: serviceAccountName } = await change('CreateServiceAccount', {
    projectName,
    displayName: markup('Deploy bot'),
    template: 'alert-manager',
  });
  const capabilities = ['monitoring.read', 'monitoring.write'];

  /** Observes a workflow, which then waits for review. */
  async function observe(displayName: string, claims: ClaimChanges) {
    const requested = { serviceAccountName, displayName: markup(displayName), capabilities };
    const { setupId, pairingCode } = await change('StartCiVerification', requested);
    const proof = { setupId, pairingCode, assertion: await mint(claims) };
    const { claimsDigest } = bodyOf(
      'SubmitCiVerification',
      await asJob('SubmitCiVerification', proof),
    );
    return { name: `${projectName}/ciVerifications/${setupId}`, claimsDigest };
  }
  async function connect(displayName: string, claims: ClaimChanges): Promise<string> {
    const { name } = await change('ApproveCiVerification', {
      ...(await observe(displayName, claims)),
      capabilities,
    });
    return String(name);
  }
  const exchange = async (trustName: string, claims: ClaimChanges) =>
    (await asJob('ExchangeCiToken', { trustName, assertion: await mint(claims) })).status;

  const nightly = { ...IN_ENTERPRISE, event_name: 'schedule' };
  const disabled = await connect('Nightly report', nightly);
  await exchange(disabled, nightly);
  await change('DisableCiConnection', { name: disabled, reason: markup('Its token was logged') });
  const trust = await connect('Deploy workflow', IN_ENTERPRISE);
  for (const run_id of ['22259804324', '22259804325', '22259804326']) {
    await exchange(trust, { ...IN_ENTERPRISE, run_id });
  }
  await exchange(trust, { ref: 'refs/heads/dev' });
  await until('the refusal is noted', async () => {
    const { recentRefusals } = await owner.call(`${IAM}/GetCiConnection`, { name: trust });
    return (recentRefusals as unknown[]).length > 0 || undefined;
  });
  await change('StartCiVerification', {
    serviceAccountName,
    displayName: markup('Release'),
    capabilities,
  });
  await observe('Integration tests', {
    ref_protected: 'false',
    repository_visibility: 'public',
    environment: markup('staging'),
  });
}
