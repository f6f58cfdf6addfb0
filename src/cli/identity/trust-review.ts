/**
 * Reviewing the identity that a workflow proved, and approving exactly that. The approval includes
 * the digest of the displayed claims, so that only what was reviewed is approved.
 */
import {
  AutomationService,
  type CiClaim,
  type CiConnection,
  CiConnectionSchema,
  type CiVerification,
  CiVerification_State,
  CiVerificationSchema,
} from '../../gen/svc/iam/v1/automation_pb.ts';
import { type Action, type ActionContext, projectOption } from '../client/action.ts';
import { Fault, UsageError } from '../client/faults.ts';
import { change, changeOptions, reasonOf } from '../client/frames.ts';
import { firstNamed, requestId } from '../client/names.ts';
import { facts, messageDocument, printMessage, table } from '../client/output.ts';
import { createdText, enumText, fullName, localTime } from '../client/texts.ts';
import { EXIT_OK } from '../command.ts';
import { capabilityOption, nameOption, reasonOption } from './options.ts';

const { method } = AutomationService;
const VERIFICATION = [{ name: 'SETUP-ID' }] as const;

const verificationName = firstNamed('ciVerifications');

/** Claims for display. An absent claim is bound too: it must stay absent. */
export function claimTable(claims: readonly CiClaim[]): string {
  return table(
    ['claim', 'value', 'bound'],
    claims.map(({ claim, value, bound }) => [claim, claimText(value), bound ? 'yes' : 'no']),
    'Nothing observed yet',
  );
}

/** Absent and empty values are different and must look different. */
export function claimText(value: string | null | undefined): string {
  return value === '' ? '(empty)' : (value ?? '(absent)');
}

/** The last proof that was rejected; '' if there was none. */
function refusedText({ lastRefusal }: CiVerification): string {
  if (!lastRefusal) return '';
  const { code, claims, refusedUnix } = lastRefusal;
  const about = claims.length > 0 ? ` (${claims.join(', ')})` : '';
  return `${code}${about} at ${localTime(refusedUnix)}`;
}

function verificationText(verification: CiVerification): string {
  const head = facts([
    ['verification', verification.name],
    ['name', verification.displayName],
    ['state', enumText(CiVerification_State, verification.state)],
    ['account', fullName(verification.serviceAccountDisplayName, verification.serviceAccountName)],
    ['requested', verification.capabilities.join(' ')],
    ['platform', `${verification.issuer} (${verification.issuerUrl})`],
    ['audience', verification.audience],
    ['started', createdText(verification)],
    ['observed', localTime(verification.observedUnix) || 'not yet'],
    ['refused', refusedText(verification)],
    ['wrong codes', verification.wrongCodes === 0 ? '' : String(verification.wrongCodes)],
    ['expires', localTime(verification.expiresUnix)],
    ['digest', verification.claimsDigest],
    ['trust', verification.connectionName],
    ...verification.warnings.map((warning) => ['WARNING', warning] as const),
  ]);
  return `${head}\n${claimTable(verification.claims)}`;
}

function printVerification(context: ActionContext, verification: CiVerification): number {
  return printMessage(context, CiVerificationSchema, verification, () =>
    verificationText(verification),
  );
}

export const reviewAction: Action = {
  name: 'review',
  summary: 'Show the identity that a workflow proved, claim by claim',
  positionals: VERIFICATION,
  options: [projectOption],
  async run(context) {
    const api = context.api('person');
    const name = await verificationName(context, api);
    return printVerification(context, await api.call(method.getCiVerification, { name }));
  },
};

export const approveAction: Action = {
  name: 'approve',
  summary: 'Trust the observed workflow, with the chosen permissions',
  positionals: VERIFICATION,
  ...changeOptions(
    { ...capabilityOption, help: 'Only these permissions; default: those requested at the start' },
    nameOption,
    {
      name: 'digest',
      takes: 'DIGEST',
      help: 'Digest of the reviewed claims; replaces the prompt in scripts',
    },
  ),
  notes: `On a terminal, each claim is shown and you confirm. Otherwise --digest must be the digest printed
by "svc trusts review".`,
  async run(context) {
    const { input } = context;
    const api = context.api('person');
    const name = await verificationName(context, api);
    const verification = await api.call(method.getCiVerification, { name });
    const given = input.list('capability').flatMap((text) => text.split(','));
    const capabilities = given.length > 0 ? given : verification.capabilities;
    await confirm(context, verification, capabilities);
    const trust = await api.call(method.approveCiVerification, {
      name,
      capabilities,
      requestId: requestId(context),
      displayName: input.text('name') ?? verification.displayName,
      claimsDigest: input.text('digest') ?? verification.claimsDigest,
    });
    const document = () => messageDocument(CiConnectionSchema, trust);
    context.print(context.json ? document() : variables(trust, api.access.endpoint));
    context.report(
      'Now remove the step and the secret SVC_SETUP_CODE from the workflow. The trust does not need them.',
    );
    return EXIT_OK;
  },
};

/** Throws `UsageError` without a terminal and a digest, `Fault` if the answer is no. */
async function confirm(
  { input, ports, report }: ActionContext,
  verification: CiVerification,
  capabilities: readonly string[],
): Promise<void> {
  const { state } = verification;
  // The service responds to a repeated request as before, and knows whether it is one.
  if (state === CiVerification_State.APPROVED && input.isOn('request-id')) return;
  if (ports.isInteractive && !input.isOn('digest')) report(verificationText(verification));
  if (state !== CiVerification_State.OBSERVED) {
    throw new Fault(
      `Nothing to approve: the verification is ${enumText(CiVerification_State, state)}`,
    );
  }
  const digest = input.text('digest');
  if (digest !== undefined) {
    if (digest === verification.claimsDigest) return;
    throw new Fault('The claims changed since you reviewed them. Review them again', {
      hint: `svc trusts review ${verification.name}`,
    });
  }
  if (!ports.isInteractive) {
    throw new UsageError(
      'There is no terminal for the confirmation, and --digest is missing',
      `Review first and pass the displayed digest: svc trusts review ${verification.name}`,
    );
  }
  const answer = await ports.ask(
    `Trust exactly this workflow with ${capabilities.join(' and ')}? Type "yes": `,
  );
  if (answer.trim().toLowerCase() !== 'yes') throw new Fault('Not approved');
}

/** Values for the CI variables. None of them is a secret. */
function variables({ name, audience }: CiConnection, endpoint: string): string {
  return `SVC_TRUST=${name}\nSVC_AUDIENCE=${audience}\nSVC_ENDPOINT=${endpoint}\n`;
}

export const rejectAction = change({
  name: 'reject',
  summary: 'End a verification without granting trust',
  positionals: VERIFICATION,
  options: [reasonOption],
  nameOf: verificationName,
  method: method.rejectCiVerification,
  fields: reasonOf,
  show: printVerification,
});
