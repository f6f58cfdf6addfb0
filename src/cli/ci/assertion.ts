/**
 * The signed identity token of a CI job, called the assertion. GitHub's token endpoint is called as
 * its official client does: the audience is appended to a URL that already has a query, and only
 * 502, 503 and 504 are retried. Other platforms provide the token in a variable or in the output of
 * a command.
 */
import { pause } from '../../../streams/platform/pause.ts';
import { isConfidential } from '../../sdk/access.ts';
import type { ActionContext } from '../client/action.ts';
import { askPlainly } from '../client/api.ts';
import { Fault, UsageError } from '../client/faults.ts';
import { mask } from './workflow.ts';

export interface AssertionSource {
  /** An unused assertion. Throws `Fault`. */
  readonly fresh: () => Promise<string>;
  /** True if `fresh` can be called again, each time for another one. */
  readonly isRenewable: boolean;
  /**
   * Environment variables that hold the assertion or the right to request one; hidden from child
   * processes.
   */
  readonly variables: readonly string[];
}

/** The right to request a token. Anyone who has these two can act as the job. */
const REQUEST_URL = 'ACTIONS_ID_TOKEN_REQUEST_URL';
const REQUEST_TOKEN = 'ACTIONS_ID_TOKEN_REQUEST_TOKEN';

/** Three parts of base64url; requests contain nothing else. */
const JWT_FORM = /^[\w-]+\.[\w-]+\.[\w-]+$/;

/** The source of the assertion, from `--assertion-from` or the job's environment. */
export function assertionSource(context: ActionContext, audience: string): AssertionSource {
  const given = context.input.text('assertion-from');
  if (given === undefined) {
    return {
      fresh: () => askPlatform(context, audience),
      isRenewable: true,
      variables: [REQUEST_URL, REQUEST_TOKEN],
    };
  }
  const read = given === '-' ? context.ports.readInput : async () => fromVariable(context, given);
  return {
    fresh: async () => checked(context, (await read()).trim(), `--assertion-from ${given}`),
    isRenewable: false,
    variables: [REQUEST_URL, REQUEST_TOKEN, ...(given === '-' ? [] : [given])],
  };
}

function fromVariable({ environment }: ActionContext, name: string): string {
  const value = environment[name];
  if (value) return value;
  throw new UsageError(
    `--assertion-from names the variable ${name}, which is not set`,
    'The job must request an identity token from its platform; see docs/ci.md',
  );
}

const TRIES_MAX = 5;
const FIRST_PAUSE_MS = 500;
const PASSING = [502, 503, 504];

async function askPlatform(context: ActionContext, audience: string): Promise<string> {
  const { ports, timeoutMs, report } = context;
  const { url, token } = permission(context);
  for (let tries = 1; ; tries++) {
    const answer = await askPlainly({
      method: 'GET',
      url: `${url}&audience=${encodeURIComponent(audience)}`,
      headers: { authorization: `Bearer ${token}`, accept: 'application/json' },
      timeoutMs,
    });
    if (answer.status === 200) {
      return checked(context, valueIn(answer.text), 'the response of the token endpoint');
    }
    // The body is not repeated, because it may contain the request.
    const sentence = `The platform's token endpoint responded with HTTP ${answer.status}`;
    if (!PASSING.includes(answer.status) || tries === TRIES_MAX) throw new Fault(sentence);
    report(`${sentence}; retrying`);
    await pause(ports.clock, FIRST_PAUSE_MS * 2 ** (tries - 1));
  }
}

function permission({ environment }: ActionContext): { url: string; token: string } {
  const { [REQUEST_URL]: url, [REQUEST_TOKEN]: token } = environment;
  if (!url || !token) throw notPermitted(environment);
  if (!URL.canParse(url) || !isConfidential(new URL(url))) {
    throw new Fault(`${REQUEST_URL} is not an HTTPS address`);
  }
  return { url, token };
}

function notPermitted(environment: ActionContext['environment']): Fault {
  if (environment.GITHUB_ACTIONS !== 'true') {
    return new UsageError(
      'This job cannot request an identity token',
      `${REQUEST_URL} is not set. On other platforms, pass the token with --assertion-from;\nsee docs/ci.md for GitLab, Buildkite and CircleCI.`,
    );
  }
  return new Fault('This job is not allowed to request an identity token', {
    hint: PERMISSION_HINT,
  });
}

/** The most likely problem of a job, to check first. */
export const PERMISSION_HINT = `Add this to the job (naming one permission removes those not named):
    permissions:
      id-token: write
      contents: read
Runs for pull requests from forks never have it, and pull requests are always denied.`;

function valueIn(text: string): string {
  try {
    const parsed: unknown = JSON.parse(text);
    if (typeof parsed === 'object' && parsed !== null && 'value' in parsed) {
      return String(parsed.value);
    }
  } catch {
    // `checked` reports it like any other response without a token.
  }
  return '';
}

/** Masked as soon as it is known. Faults never contain the text. */
function checked(context: ActionContext, assertion: string, where: string): string {
  if (!JWT_FORM.test(assertion)) throw new Fault(`No identity token in ${where}`);
  mask(context, assertion);
  return assertion;
}
