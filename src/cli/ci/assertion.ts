/**
 * The signed identity token of a CI job, the assertion. GitHub's token endpoint is asked as its
 * official client does (audience appended to a URL that has a query already, tried again only on
 * 502, 503 and 504); other platforms hand the token to the job in a variable or a command's output.
 */
import { pause } from '../../../streams/platform/pause.ts';
import { isConfidential } from '../../sdk/access.ts';
import type { ActionContext } from '../client/action.ts';
import { askPlainly } from '../client/api.ts';
import { Fault, UsageError } from '../client/faults.ts';
import { mask } from './workflow.ts';

export interface AssertionSource {
  /** An assertion that has not been used. Throws `Fault`. */
  readonly fresh: () => Promise<string>;
  /** true: `fresh` can be called again, each time for another one. */
  readonly isRenewable: boolean;
  /** Names in the environment that hold it, or the right to it: not for a child. */
  readonly variables: readonly string[];
}

/** The right to ask for a token. Whoever has these two acts as the job. */
const REQUEST_URL = 'ACTIONS_ID_TOKEN_REQUEST_URL';
const REQUEST_TOKEN = 'ACTIONS_ID_TOKEN_REQUEST_TOKEN';

/** Three parts of base64url; nothing else goes into a request. */
const JWT_FORM = /^[\w-]+\.[\w-]+\.[\w-]+$/;

/** Where the assertion comes from, by `--assertion-from` or the job's environment. */
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
    'The job must ask its platform for an identity token; docs/ci.md says how',
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
      return checked(context, valueIn(answer.text), 'the answer of the token endpoint');
    }
    // What the platform says beside the status is not repeated: it may hold what was sent.
    const sentence = `The token endpoint of the platform answered HTTP ${answer.status}`;
    if (!PASSING.includes(answer.status) || tries === TRIES_MAX) throw new Fault(sentence);
    report(`${sentence}; asking again`);
    await pause(ports.clock, FIRST_PAUSE_MS * 2 ** (tries - 1));
  }
}

function permission({ environment }: ActionContext): { url: string; token: string } {
  const { [REQUEST_URL]: url, [REQUEST_TOKEN]: token } = environment;
  if (!url || !token) throw notPermitted(environment);
  if (!URL.canParse(url) || !isConfidential(new URL(url))) {
    throw new Fault(`${REQUEST_URL} is not an https address`);
  }
  return { url, token };
}

function notPermitted(environment: ActionContext['environment']): Fault {
  if (environment.GITHUB_ACTIONS !== 'true') {
    return new UsageError(
      'This is not a job that can ask for an identity token',
      `${REQUEST_URL} is not set. On another platform give its token with --assertion-from;\ndocs/ci.md says how for GitLab, Buildkite and CircleCI.`,
    );
  }
  return new Fault('This job may not ask for an identity token', { hint: PERMISSION_HINT });
}

/** Of what is wrong in a job, the first to look at. */
export const PERMISSION_HINT = `Add this to the job (naming one permission takes away those not named):
    permissions:
      id-token: write
      contents: read
A run that a fork's pull request starts never may; pull requests are refused in any case.`;

function valueIn(text: string): string {
  try {
    const parsed: unknown = JSON.parse(text);
    if (typeof parsed === 'object' && parsed !== null && 'value' in parsed) {
      return String(parsed.value);
    }
  } catch {
    // `checked` reports it, as any other answer without a token.
  }
  return '';
}

/** Masked as soon as it is known. The text is never repeated in a fault. */
function checked(context: ActionContext, assertion: string, where: string): string {
  if (!JWT_FORM.test(assertion)) throw new Fault(`There is no identity token in ${where}`);
  mask(context, assertion);
  return assertion;
}
