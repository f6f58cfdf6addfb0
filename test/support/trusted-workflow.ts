/** A CI workflow that a project trusts, verified and approved from the command line. */
import type { CliWorld } from './cli-against-service.ts';

export interface TrustedWorkflow {
  /** Environment of its jobs: the platform's variables, and those of the trust. */
  readonly env: Readonly<Record<string, string>>;
  /** Name of its service account. */
  readonly account: string;
}

/** Creates a project with a signed-in owner and a service account that may read and write. */
export async function prepareAccount(
  { svc, signIn, emailOf }: CliWorld,
  project: string,
): Promise<string> {
  await svc(['admin', 'project', 'create', project, '--owner', emailOf('owner')]);
  await signIn();
  const create = ['service-accounts', 'create', '--name', 'Deploy', '--template', 'alert-manager'];
  return (await svc([...create, '--json'])).json.name;
}

/** A workflow that may read. `claims` replace the usual claims of its jobs. */
export async function trustWorkflow(
  { svc, platform }: CliWorld,
  account: string,
  claims: Readonly<Record<string, unknown>> = {},
): Promise<TrustedWorkflow> {
  const verify = ['trusts', 'verify', '--service-account', account, '--name', 'Deploy workflow'];
  const start = await svc([...verify, '--capability', 'monitoring.read', '--json']);
  const { setupId, pairingCode, audience } = start.json;
  const job = { ...platform.jobEnvironment, SVC_AUDIENCE: audience };
  platform.job.claims = claims;
  const proof = { ...job, SVC_SETUP_CODE: pairingCode, SVC_SETUP_ID: setupId };
  await svc(['auth', 'ci', '--verify'], { env: proof });
  platform.job.claims = {};
  const approved = await svc(['trusts', 'approve', setupId], { answers: ['yes'] });
  if (approved.code !== 0) throw new Error(approved.stderr);
  const variables = [...approved.stdout.matchAll(/^(\w+)=(.*)$/gm)];
  const stepVariables = Object.fromEntries(
    variables.map(([, name, value]) => [name ?? '', value ?? '']),
  );
  return { env: { ...job, ...stepVariables }, account };
}
