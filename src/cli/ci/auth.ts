/**
 * `svc auth ci`: inside a CI job, exchanges the job's identity for a token of 15 minutes and gives
 * it to one child process. The token is masked before anything can print it, lives in the child's
 * environment alone, and is written nowhere; the child gets no right to ask for further ones.
 */
import { pause } from '../../../streams/platform/pause.ts';
import {
  AutomationService,
  type ExchangeCiTokenResponse,
  SubmitCiVerificationResponseSchema,
} from '../../gen/svc/iam/v1/automation_pb.ts';
import { retryWaitMs } from '../../sdk/retry.ts';
import { type Action, type ActionContext, family } from '../client/action.ts';
import { type Api, RETRIES } from '../client/api.ts';
import { Fault, NoAnswer, UsageError } from '../client/faults.ts';
import { json, messageJson } from '../client/output.ts';
import { EXIT_OK } from '../command.ts';
import { claimTable } from '../identity/trust-review.ts';
import { type AssertionSource, assertionSource } from './assertion.ts';
import { reportRefusal } from './refusal-report.ts';
import { mask } from './workflow.ts';

const { method } = AutomationService;
const TRIES_MAX = 3;

const ciAction: Action = {
  name: 'ci',
  summary: 'Exchange the identity of a CI job for a token, and run one command with it',
  takesCommand: true,
  options: [
    { name: 'trust', takes: 'NAME', help: 'Approved trust name; else SVC_TRUST' },
    {
      name: 'audience',
      takes: 'AUDIENCE',
      help: 'Audience of the identity token; else SVC_AUDIENCE',
    },
    { name: 'print', help: 'Print the token, after masking it, instead of running a command' },
    { name: 'verify', help: 'Run the verification step instead, with SVC_SETUP_CODE' },
    { name: 'setup-id', takes: 'ID', help: 'Id of the verification; else SVC_SETUP_ID' },
    {
      ...{ name: 'assertion-from', takes: 'VARIABLE' },
      help: 'Variable that holds the identity token, on platforms that set one; - reads standard input',
    },
  ],
  notes: `The command gets the token as SVC_API_KEY in its own environment, with SVC_ENDPOINT and
SVC_PROJECT; svc ends with its exit code. The token expires after 15 minutes and cannot be
renewed: split longer work, and run "svc auth ci -- …" for each part. Other tools read the token
from the environment, never from an argument, which every process of the machine can read;
docs/ci.md shows it with curl. --print writes it to standard output and the mask to standard
error; keep it in one step, and never put it into GITHUB_ENV, GITHUB_OUTPUT, a file or an
artifact.`,
  run: (context) => (context.input.isOn('verify') ? verify(context) : exchange(context)),
};

export const authCommand = family('auth', 'Keyless access for CI jobs', [ciAction]);

async function exchange(context: ActionContext): Promise<number> {
  const { input, print } = context;
  const { command } = input;
  if (input.isOn('print') === command.length > 0) {
    throw new UsageError(
      'Pass a command after --, or --print',
      'svc auth ci -- svc monitoring vms',
    );
  }
  const trustName = needed(context, 'trust', 'SVC_TRUST');
  const api = context.api('nobody');
  const source = assertionSource(context, needed(context, 'audience', 'SVC_AUDIENCE'));
  const answer = await withFresh(context, source, (assertion) =>
    api.call(method.exchangeCiToken, { trustName, assertion }),
  );
  mask(context, answer.accessToken);
  if (command.length > 0) return runWith(context, { api, source, answer, command });
  const { accessToken, projectName, expiresInSeconds } = answer;
  print(context.json ? json({ accessToken, projectName, expiresInSeconds }) : `${accessToken}\n`);
  return EXIT_OK;
}

function needed(
  { input, environment }: ActionContext,
  option: string,
  variable: string,
  hint = VARIABLES_HINT,
): string {
  const value = input.text(option) || environment[variable]?.trim();
  if (value) return value;
  throw new UsageError(`${variable} is empty, and there is no --${option}`, hint);
}

const VARIABLES_HINT =
  'It is a variable of the CI, not a secret; runs for pull requests from forks do not see variables.\n"svc trusts show" prints the trust name and the audience';

const VERIFY_HINT =
  '"svc trusts verify" printed it (docs/ci.md, step 3): pass it to the verification step of the job';

/**
 * One call with an assertion of its own for each try: what was sent is burned, whatever came of it.
 */
async function withFresh<T>(
  context: ActionContext,
  source: AssertionSource,
  call: (assertion: string) => Promise<T>,
): Promise<T> {
  for (let tries = 1; ; tries++) {
    const assertion = await source.fresh();
    try {
      return await call(assertion);
    } catch (error) {
      reportRefusal(context, error, assertion);
      const waitMs = error instanceof NoAnswer ? 1_000 * tries : retryWaitMs(error, tries, RETRIES);
      if (waitMs === undefined || !source.isRenewable || tries === TRIES_MAX) throw error;
      context.report('The service did not answer usably; trying again with a fresh identity');
      await pause(context.ports.clock, waitMs);
    }
  }
}

/** 126 and 127, as in shells: the command cannot be run, or does not exist. */
const EXIT_CANNOT_RUN = 126;
const EXIT_NO_COMMAND = 127;

async function runWith(
  { environment, ports, surroundings }: ActionContext,
  given: {
    readonly api: Api;
    readonly source: AssertionSource;
    readonly answer: ExchangeCiTokenResponse;
    readonly command: readonly string[];
  },
): Promise<number> {
  const { api, source, answer, command } = given;
  const child: Record<string, string | undefined> = { ...environment };
  // SVC_REEXEC is ours alone: with it another svc would not find its Node.
  for (const name of [...source.variables, 'SVC_SETUP_CODE', 'SVC_REEXEC']) delete child[name];
  child.SVC_API_KEY = answer.accessToken;
  child.SVC_ENDPOINT = api.access.endpoint;
  child.SVC_PROJECT = answer.projectName.replace(/^projects\//, '');
  const { onSignal } = surroundings;
  const end = await ports.runChild({ command, environment: child, onSignal });
  if ('exitCode' in end) return end.exitCode;
  throw new Fault(`${command[0] ?? ''} cannot be run: ${end.problem}`, {
    exitCode: end.missing ? EXIT_NO_COMMAND : EXIT_CANNOT_RUN,
  });
}

async function verify(context: ActionContext): Promise<number> {
  const { environment, input, print } = context;
  if (input.isOn('print') || input.command.length > 0) {
    throw new UsageError('--verify proves an identity and gets no token, so it takes no command');
  }
  const setupId = needed(context, 'setup-id', 'SVC_SETUP_ID', VERIFY_HINT);
  const pairingCode = environment.SVC_SETUP_CODE?.trim() ?? '';
  if (pairingCode === '') {
    throw new UsageError(
      'SVC_SETUP_CODE is empty',
      'Store the pairing code as a secret of that name, and pass it to this step: runs for pull requests from forks see no secrets',
    );
  }
  mask(context, pairingCode);
  const api = context.api('nobody');
  const audience = needed(context, 'audience', 'SVC_AUDIENCE', VERIFY_HINT);
  const source = assertionSource(context, audience);
  const answer = await withFresh(context, source, (assertion) =>
    api.call(method.submitCiVerification, { setupId, pairingCode, assertion }),
  );
  if (context.json) {
    print(json(messageJson(SubmitCiVerificationResponseSchema, answer)));
    return EXIT_OK;
  }
  print(
    `Observed, and waiting for review. Nothing is granted yet.\n\n${claimTable(answer.claims)}\n`,
  );
  print(`digest  ${answer.claimsDigest}\n`);
  context.report(`Review it within 30 minutes of the start: svc trusts review ${setupId}`);
  return EXIT_OK;
}
