/**
 * `svc auth ci`: inside a CI job, exchanges the job's identity for a token that is valid for 15
 * minutes and passes it to one child process. The token is masked before anything can print it,
 * exists only in the child's environment, and is never written. The child cannot request further
 * tokens.
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
import {
  Fault,
  NoAnswer,
  printable,
  refusalOf,
  type ServiceRefusal,
  UsageError,
} from '../client/faults.ts';
import { json, messageDocument, table } from '../client/output.ts';
import { EXIT_OK } from '../command.ts';
import { claimTable, claimText } from '../identity/trust-review.ts';
import { type AssertionSource, assertionSource, PERMISSION_HINT } from './assertion.ts';
import { addToSummary, mask } from './workflow.ts';

const { method } = AutomationService;
const TRIES_MAX = 3;

const ciAction: Action = {
  name: 'ci',
  summary: 'Exchange the identity of a CI job for a token, and run one command with it',
  takesCommand: true,
  options: [
    { name: 'trust', takes: 'NAME', help: 'Name of the approved trust; default: SVC_TRUST' },
    {
      name: 'audience',
      takes: 'AUDIENCE',
      help: 'Audience of the identity token; default: SVC_AUDIENCE',
    },
    { name: 'print', help: 'Print the token, after masking it, instead of running a command' },
    { name: 'verify', help: 'Run the verification step instead, with SVC_SETUP_CODE' },
    { name: 'setup-id', takes: 'ID', help: 'Id of the verification; default: SVC_SETUP_ID' },
    {
      name: 'assertion-from',
      takes: 'VARIABLE',
      help: 'Variable that holds the identity token, if the platform sets one; - reads standard input',
    },
  ],
  notes: `The command gets the token as SVC_API_KEY in its own environment, with SVC_ENDPOINT and
SVC_PROJECT; svc returns its exit code. The token expires after 15 minutes and cannot be renewed.
Split longer work, and run "svc auth ci -- …" for each part. Other tools must read the token from
the environment, never from an argument, which every process on the machine can read; docs/ci.md
has an example with curl. --print writes it to standard output and the mask to standard error.
Use it within one step, and never write it to GITHUB_ENV, GITHUB_OUTPUT, a file or an artifact.`,
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
  throw new UsageError(`${variable} is empty, and --${option} is not set`, hint);
}

const VARIABLES_HINT =
  'This is a CI variable, not a secret. Runs for pull requests from forks do not have access to variables.\n"svc trusts show" prints the trust name and the audience';

const VERIFY_HINT =
  '"svc trusts verify" printed it (docs/ci.md, step 3). Pass it to the verification step of the job';

/**
 * One call with a new assertion for each attempt: an assertion that was sent is used up, whatever
 * the outcome.
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
      context.report(
        'The service did not return a usable response; retrying with a new identity token',
      );
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
  // SVC_REEXEC is internal: with it, a nested svc would not find its Node.
  for (const name of [...source.variables, 'SVC_SETUP_CODE', 'SVC_REEXEC']) delete child[name];
  child.SVC_API_KEY = answer.accessToken;
  child.SVC_ENDPOINT = api.access.endpoint;
  child.SVC_PROJECT = answer.projectName.replace(/^projects\//, '');
  const { onSignal } = surroundings;
  const end = await ports.runChild({ command, environment: child, onSignal });
  if ('exitCode' in end) return end.exitCode;
  throw new Fault(`${command[0] ?? ''} could not be run: ${end.problem}`, {
    exitCode: end.missing ? EXIT_NO_COMMAND : EXIT_CANNOT_RUN,
  });
}

async function verify(context: ActionContext): Promise<number> {
  const { environment, input, print } = context;
  if (input.isOn('print') || input.command.length > 0) {
    throw new UsageError(
      '--verify proves an identity without issuing a token, so it takes no command',
    );
  }
  const setupId = needed(context, 'setup-id', 'SVC_SETUP_ID', VERIFY_HINT);
  const pairingCode = environment.SVC_SETUP_CODE?.trim() ?? '';
  if (pairingCode === '') {
    throw new UsageError(
      'SVC_SETUP_CODE is empty',
      'Store the pairing code as a secret of that name and pass it to this step. Runs for pull requests from forks do not have access to secrets',
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
    print(messageDocument(SubmitCiVerificationResponseSchema, answer));
    return EXIT_OK;
  }
  print(
    `Observed, and waiting for review. Nothing is granted yet.\n\n${claimTable(answer.claims)}\n`,
  );
  print(`digest  ${answer.claimsDigest}\n`);
  context.report(`Review it within 30 minutes of the start: svc trusts review ${setupId}`);
  return EXIT_OK;
}

// Reports a refused exchange so that the author of the workflow can fix it: every claim of the job,
// decoded here from its own token, with marks at those that are MISSING or DIFFERENT. In a job it
// is also on the summary page. The token itself is never printed.

/** One entry of the refusal's `metadata.claims`. */
interface Difference {
  readonly claim: string;
  readonly got: string | null;
  /**
   * Absent if only the owner of the trusted workflow may see it; null if the claim must be absent.
   */
  readonly expected?: string | null;
}

interface Row {
  readonly claim: string;
  readonly value: string;
  readonly mark: string;
}

/** Maximum length of a displayed claim, characters. */
const VALUE_CHARS_MAX = 300;

/** Reports a refused exchange or verification; ignores other faults. */
function reportRefusal(context: ActionContext, error: unknown, assertion: string): void {
  const refusal = refusalOf(error);
  if (refusal?.reason !== 'EXCHANGE_DENIED' && refusal?.reason !== 'BAD_ASSERTION') return;
  const rows = rowsOf(decodedClaims(assertion), differencesOf(refusal));
  const hints = hintsFor(refusal, context.environment);
  if (!context.json) {
    const cells = rows.map(({ claim, value, mark }) => [claim, value, mark]);
    context.report('Claims of this job:\n');
    context.report(table(['claim', 'value', ''], cells, 'The token cannot be decoded'));
    for (const hint of hints) context.report(`${hint}\n`);
  }
  addToSummary(context, summaryOf(refusal, rows, hints));
}

/**
 * The payload of a JWT as claims and texts; {} if it is not a JWT. It is not verified, because the
 * token is our own.
 */
function decodedClaims(assertion: string): Readonly<Record<string, string>> {
  try {
    const payload = Buffer.from(assertion.split('.')[1] ?? '', 'base64url').toString('utf8');
    const claims = JSON.parse(payload) as Record<string, unknown>;
    return Object.fromEntries(
      Object.entries(claims).map(([claim, value]) => [claim, textOf(value)]),
    );
  } catch {
    return {};
  }
}

function textOf(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  return text.length > VALUE_CHARS_MAX ? `${text.slice(0, VALUE_CHARS_MAX)}…` : text;
}

function differencesOf({ metadata }: ServiceRefusal): readonly Difference[] {
  try {
    const parsed: unknown = JSON.parse(metadata.claims ?? '[]');
    return Array.isArray(parsed) ? (parsed as Difference[]) : [];
  } catch {
    return [];
  }
}

/** Differing claims are first, so that they are noticed. */
function rowsOf(
  claims: Readonly<Record<string, string>>,
  differences: readonly Difference[],
): readonly Row[] {
  const differing = differences.map((difference) => ({
    claim: difference.claim,
    value: claimText(difference.got === null ? null : textOf(difference.got)),
    mark: markOf(difference),
  }));
  const rest = Object.entries(claims)
    .filter(([claim]) => !differences.some((difference) => difference.claim === claim))
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([claim, value]) => ({ claim, value: claimText(value), mark: '' }));
  return [...differing, ...rest];
}

function markOf({ got, expected }: Difference): string {
  const mark = got === null ? 'MISSING' : 'DIFFERENT';
  if (expected === undefined) return mark;
  if (expected === null) return `${mark}: must be absent`;
  return `${mark}: expected ${claimText(textOf(expected))}`;
}

const PULL_REQUEST = /^pull_request/;

function hintsFor(
  { metadata }: ServiceRefusal,
  environment: ActionContext['environment'],
): string[] {
  const hints: string[] = [];
  if (PULL_REQUEST.test(environment.GITHUB_EVENT_NAME ?? '') || metadata.cause === 'PULL_REQUEST') {
    hints.push(
      'Pull requests are always denied, from forks and from branches. Run the job on push,\nworkflow_dispatch or schedule, as the trust was verified.',
    );
  }
  if (metadata.cause === 'IDENTITY_RENAMED') {
    hints.push(
      'The repository or its owner was renamed. Verify the workflow again (svc trusts verify).',
    );
  }
  if (metadata.cause === 'IDENTITY_MISMATCH') {
    hints.push('Either run the job as it was verified, or verify this one (svc trusts verify).');
  }
  if (!environment.ACTIONS_ID_TOKEN_REQUEST_URL && environment.GITHUB_ACTIONS === 'true') {
    hints.push(PERMISSION_HINT);
  }
  return hints;
}

function summaryOf(
  refusal: ServiceRefusal,
  rows: readonly Row[],
  hints: readonly string[],
): string {
  const { reason, message, metadata } = refusal;
  const facts = ['cause', 'correlation'].flatMap((name) => {
    const value = metadata[name];
    return value === undefined ? [] : [`- ${name}: ${code(value)}`];
  });
  return [
    '### svc: this job was denied',
    '',
    `${code(reason)}: ${code(message)}`,
    '',
    ...facts,
    '',
    '| claim | this job | |',
    '| --- | --- | --- |',
    ...rows.map(({ claim, value, mark }) => {
      return `| ${code(claim)} | ${code(value)} | ${mark === '' ? '' : `**${code(mark)}**`} |`;
    }),
    '',
    ...hints.map(
      (hint) =>
        `${hint
          .split('\n')
          .map((line) => `> ${line}`)
          .join('\n')}\n`,
    ),
    '',
  ].join('\n');
}

/** A text as code: it cannot introduce markup or table cells. */
function code(text: string): string {
  return `\`${printable(text).replaceAll('`', "'").replaceAll('|', '\\|')}\``;
}
