/**
 * `svc trusts`: CI workflows that may exchange their identity for a token. A trust is never typed
 * in: `verify` makes a workflow prove its identity, `review` shows it, and `approve` trusts exactly
 * that.
 */
import {
  AutomationService,
  type CiConnection,
  CiConnection_State,
  CiConnectionSchema,
  type CiRefusedExchange,
  CiRefusedExchange_Claim_Difference,
  type CiVerification,
  CiVerification_State,
  StartCiVerificationResponseSchema,
} from '../../gen/svc/iam/v1/automation_pb.ts';
import { type Action, type ActionContext, family, projectOption } from '../client/action.ts';
import { changeOptions, ofProject, type ResourceKind, reads, showing } from '../client/frames.ts';
import { listing, long, minor, moment, stateCell } from '../client/listing.ts';
import { firstNamed, requestId, resourceName } from '../client/names.ts';
import { reportRequest } from '../client/once.ts';
import { facts, messageDocument, printMessage, table } from '../client/output.ts';
import {
  createdText,
  displayedName,
  enumText,
  fullName,
  localTime,
  shortName,
} from '../client/texts.ts';
import { EXIT_FAULT, EXIT_OK, type Screen } from '../command.ts';
import { capabilitiesOf, capabilityOption, nameOption, switchedActions } from './options.ts';
import { approveAction, claimTable, rejectAction, reviewAction } from './trust-review.ts';

const { method } = AutomationService;
const trustKind: ResourceKind<CiConnection> = {
  positionals: [{ name: 'TRUST' }],
  nameOf: firstNamed('ciConnections'),
  show: printTrust,
};

function printTrust(context: ActionContext, trust: CiConnection): number {
  return printMessage(
    context,
    CiConnectionSchema,
    trust,
    () => `${trustFacts(trust)}\n${claimTable(trust.claims)}${refusalTable(trust.recentRefusals)}`,
  );
}

/**
 * Empty without refusals. Only the difference of each claim is shown: the values are in the job's
 * log.
 */
function refusalTable(refusals: readonly CiRefusedExchange[]): string {
  if (refusals.length === 0) return '';
  const rows = refusals.map(({ refusedUnix, causes, claims, runs, correlationId }) => [
    localTime(refusedUnix),
    causes.map(({ code, refusals }) => (refusals === 1 ? code : `${code} x${refusals}`)).join(', '),
    claims
      .map(({ claim, difference }) =>
        `${claim} ${enumText(CiRefusedExchange_Claim_Difference, difference)}`.trim(),
      )
      .join(', '),
    runs.join(', '),
    correlationId,
  ]);
  return `\n${table(['refused', 'cause', 'claims', 'run', 'correlation id'], rows, '')}`;
}

function trustFacts(trust: CiConnection): string {
  return facts([
    ['trust', trust.name],
    ['name', trust.displayName],
    ['state', enumText(CiConnection_State, trust.state)],
    ['disable reason', trust.disabledReason],
    ['account', fullName(trust.serviceAccountDisplayName, trust.serviceAccountName)],
    ['approved for', trust.capabilities.join(' ')],
    ['can do now', trust.effectiveCapabilities.join(' ') || 'nothing'],
    ['platform', trust.issuer],
    ['audience', trust.audience],
    ['last exchange', localTime(trust.lastExchangeUnix) || 'never'],
    ['last refusal', localTime(trust.lastRefusalUnix)],
    ['created', createdText(trust)],
    ['updated', localTime(trust.updatedUnix)],
    ['token epoch', String(trust.tokenEpoch)],
    ['verification', trust.verificationName],
  ]);
}

const listAction: Action = {
  name: 'list',
  summary: 'List approved trusts, or verifications',
  options: [projectOption, { name: 'verifications', help: 'List verifications instead' }],
  run: (context) =>
    context.input.isOn('verifications') ? listVerifications(context) : listTrusts(context),
};

const listTrusts = reads({
  caller: 'person',
  method: method.listCiConnections,
  every: 'connections',
  request: ofProject,
  text: ({ connections }, { screen }) => trustTable(connections, screen),
});

const listVerifications = reads({
  caller: 'person',
  method: method.listCiVerifications,
  every: 'verifications',
  request: ofProject,
  text: ({ verifications }, { screen }) => verificationTable(verifications, screen),
});

function trustTable(trusts: readonly CiConnection[], screen: Screen | undefined): string {
  return listing(
    screen,
    [
      long('name'),
      'state',
      long('can do'),
      long('repository'),
      'last exchange',
      minor('account'),
      minor('trust'),
    ],
    trusts.map((trust) => [
      trust.displayName,
      stateCell(enumText(CiConnection_State, trust.state)),
      trust.effectiveCapabilities.join(' ') || 'nothing',
      claimOf(trust, 'repository'),
      moment(trust.lastExchangeUnix, 'never'),
      displayedName(trust.serviceAccountDisplayName, trust.serviceAccountName),
      shortName(trust.name),
    ]),
    'No workflow is trusted in this project',
  );
}

function claimOf({ claims }: CiConnection, name: string): string {
  return claims.find(({ claim }) => claim === name)?.value ?? '';
}

function verificationTable(
  verifications: readonly CiVerification[],
  screen: Screen | undefined,
): string {
  return listing(
    screen,
    [
      long('name'),
      'state',
      'platform',
      'expires',
      minor('wrong codes'),
      minor('account'),
      minor('verification'),
    ],
    verifications.map((one) => [
      one.displayName,
      stateCell(enumText(CiVerification_State, one.state)),
      one.issuer,
      moment(one.expiresUnix),
      String(one.wrongCodes),
      displayedName(one.serviceAccountDisplayName, one.serviceAccountName),
      shortName(one.name),
    ]),
    'No verifications in this project',
  );
}

const showAction = showing(
  trustKind,
  method.getCiConnection,
  'Show a trust and its required claims',
);

const verifyAction: Action = {
  name: 'verify',
  summary: 'Start a verification; prints the step to paste, and its code once',
  ...changeOptions(
    { name: 'service-account', takes: 'NAME', help: 'Service account that limits its permissions' },
    nameOption,
    { ...capabilityOption, help: 'Permissions that can be approved later' },
    { name: 'platform', takes: 'NAME', help: 'github (default), gitlab, buildkite, circleci, …' },
  ),
  notes: `The step to paste goes to standard output, the rest to standard error; --json prints both. The
code is shown once. It is valid until the verification is decided, for at most 30 minutes, so a
denied run can be repeated. It proves an identity and grants nothing.`,
  async run(context) {
    const { input, print, report } = context;
    const api = context.api('person');
    const given = input.required('service-account');
    const collection = 'serviceAccounts';
    const request = {
      serviceAccountName: await resourceName(context, api, { collection, given }),
      requestId: requestId(context),
      displayName: input.required('name'),
      capabilities: capabilitiesOf(context),
      issuer: input.text('platform') ?? '',
    };
    reportRequest(context, 'Starting a verification', request.requestId);
    const answer = await api.call(method.startCiVerification, request);
    const { setupId, pairingCode, secretAvailable, audience, expiresUnix, workflowStep } = answer;
    if (context.json) print(messageDocument(StartCiVerificationResponseSchema, answer));
    else {
      print(workflowStep);
      report(
        facts([
          ['setup id', setupId],
          ['audience', audience],
          ['expires', localTime(expiresUnix)],
          ['code', secretAvailable ? pairingCode : 'was in an earlier response'],
        ]).trimEnd(),
      );
    }
    report(secretAvailable ? nextSteps(setupId) : LOST_CODE);
    return secretAvailable ? EXIT_OK : EXIT_FAULT;
  },
};

const LOST_CODE =
  'The code cannot be shown again. Start another verification, without --request-id. This one expires by itself; to end it now, run "svc trusts reject".';

function nextSteps(setupId: string): string {
  return [
    'Next: add the step to the job that will use the trust, store the code as the temporary',
    'secret SVC_SETUP_CODE, and run the job with the branch, event and environment that you want to trust.',
    `Then: svc trusts review ${setupId}`,
  ].join('\n');
}

const stateActions = switchedActions(trustKind, {
  update: method.updateCiConnection,
  disable: method.disableCiConnection,
  enable: method.enableCiConnection,
  remove: method.deleteCiConnection,
  summaries: {
    update: 'Change the name or the permissions; issued tokens stop working',
    disable: 'Stop exchanges and reject tokens at once (emergency stop)',
    enable: 'Let the workflow exchange again',
    remove: 'Permanently delete a trust',
  },
});

export const trustsCommand = family('trusts', 'CI workflows that are trusted without a key', [
  listAction,
  showAction,
  verifyAction,
  reviewAction,
  approveAction,
  rejectAction,
  ...stateActions,
]);
