/**
 * Reviewing what a workflow showed, and approving exactly that: the digest of the claims that were
 * on the screen goes with the approval, so that what was reviewed is what is approved.
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
import { firstNamed, requestId } from '../client/names.ts';
import {
  enumText,
  facts,
  fullName,
  json,
  localTime,
  messageJson,
  printMessage,
  table,
} from '../client/output.ts';
import { EXIT_OK } from '../command.ts';
import { capabilityOption, change, changeOptions, nameOption, reasonOption } from './options.ts';

const { method } = AutomationService;
const VERIFICATION = [{ name: 'SETUP-ID' }] as const;

const verificationName = firstNamed('ciVerifications');

/** Claims for people. What a token did not have is bound too: it must stay absent. */
export function claimTable(claims: readonly CiClaim[]): string {
  return table(
    ['claim', 'value', 'must stay so'],
    claims.map(({ claim, value, bound }) => [claim, claimText(value), bound ? 'yes' : 'no']),
    'Nothing has been observed yet',
  );
}

/** Absent and empty are different things, and neither must look like the other. */
export function claimText(value: string | null | undefined): string {
  return value === '' ? '(empty)' : (value ?? '(absent)');
}

/** The last proof that the job sent and that was not accepted; '' when there was none. */
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
    ['asked for', verification.capabilities.join(' ')],
    ['platform', `${verification.issuer} (${verification.issuerUrl})`],
    ['audience', verification.audience],
    [
      'started',
      `${localTime(verification.createdUnix)} by ${fullName(verification.createdByDisplayName, verification.createdBy)}`,
    ],
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
    { ...capabilityOption, help: 'Only these; default: those the verification was started with' },
    nameOption,
    {
      name: 'digest',
      takes: 'DIGEST',
      help: 'Digest of the reviewed claims: for programs, in place of a prompt',
    },
  ),
  notes: `On a terminal each claim is shown and you confirm. Elsewhere --digest must be the digest that "svc trusts
review" showed.`,
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
    const document = () => json(messageJson(CiConnectionSchema, trust));
    context.print(context.json ? document() : variables(trust, api.access.endpoint));
    context.report(
      'Now remove the step and the secret SVC_SETUP_CODE from the workflow: the trust does not need them.',
    );
    return EXIT_OK;
  },
};

/** Throws `UsageError` without a terminal and a digest, `Fault` when the answer is no. */
async function confirm(
  { input, ports, report }: ActionContext,
  verification: CiVerification,
  capabilities: readonly string[],
): Promise<void> {
  const { state } = verification;
  // The service answers a resend as it did before, and knows whether it is one.
  if (state === CiVerification_State.APPROVED && input.isOn('request-id')) return;
  if (ports.isInteractive && !input.isOn('digest')) report(verificationText(verification));
  if (state !== CiVerification_State.OBSERVED) {
    throw new Fault(
      `There is nothing to approve: the verification is ${enumText(CiVerification_State, state)}`,
    );
  }
  const digest = input.text('digest');
  if (digest !== undefined) {
    if (digest === verification.claimsDigest) return;
    throw new Fault('The observed claims are not those of the digest: review them again', {
      hint: `svc trusts review ${verification.name}`,
    });
  }
  if (!ports.isInteractive) {
    throw new UsageError(
      'There is no terminal to confirm at: --digest is missing',
      `Review first, and pass the digest that it shows: svc trusts review ${verification.name}`,
    );
  }
  const answer = await ports.ask(
    `Trust exactly this workflow with ${capabilities.join(' and ')}? Type "yes": `,
  );
  if (answer.trim().toLowerCase() !== 'yes') throw new Fault('Not approved');
}

/** What goes into the variables of the CI. None of it is a secret. */
function variables({ name, audience }: CiConnection, endpoint: string): string {
  return `SVC_TRUST=${name}\nSVC_AUDIENCE=${audience}\nSVC_ENDPOINT=${endpoint}\n`;
}

export const rejectAction = change({
  name: 'reject',
  summary: 'End a verification without trusting anything',
  positionals: VERIFICATION,
  options: [reasonOption],
  nameOf: verificationName,
  send: (api, request, { input }) =>
    api.call(method.rejectCiVerification, { ...request, reason: input.text('reason') ?? '' }),
  show: printVerification,
});
