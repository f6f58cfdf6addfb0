/**
 * Faults as reported by a client command: the reason, the message, the next step, and the
 * correlation id in the service's records; with the exit code for programs.
 */
import { Code, ConnectError } from '@connectrpc/connect';
import { closestName } from '../../../actors/platform/closest-name.ts';
import { ErrorInfoSchema } from '../../gen/svc/options/v1/error_pb.ts';
import { errorCatalogue } from '../../platform/errors.ts';
import { EXIT_FAULT, EXIT_USAGE } from '../command.ts';

/** Not signed in or not permitted: another credential or grant is required. */
export const EXIT_DENIED = 3;
/** The resource does not exist in the project. */
export const EXIT_NOT_FOUND = 4;
/** No response: it is unknown whether a change was made. */
export const EXIT_UNCERTAIN = 5;

/** A fault that its message fully explains. */
export class Fault extends Error {
  readonly exitCode: number;
  /** What to do, in one sentence or several lines. */
  readonly hint: string | undefined;
  /** For programs: `CLIENT`, or the reason with which the service would have refused it. */
  readonly reason: string;

  constructor(message: string, { exitCode = EXIT_FAULT, hint, reason }: FaultOptions = {}) {
    super(message);
    this.reason = reason ?? 'CLIENT';
    this.name = 'Fault';
    this.exitCode = exitCode;
    this.hint = hint;
  }
}

interface FaultOptions {
  readonly reason?: string;
  readonly exitCode?: number | undefined;
  readonly hint?: string | undefined;
}

/** The command line is invalid. */
export class UsageError extends Fault {
  constructor(message: string, hint?: string) {
    super(message, { exitCode: EXIT_USAGE, hint });
    this.name = 'UsageError';
  }
}

/** No response after all attempts: a change may or may not have been made. */
export class NoAnswer extends Fault {
  constructor(message: string, hint?: string) {
    super(message, { exitCode: EXIT_UNCERTAIN, hint });
    this.name = 'NoAnswer';
  }
}

/** A refusal by the service. */
export interface ServiceRefusal {
  /** From the catalogue (docs/errors.md), or Connect's code if the service gave none. */
  readonly reason: string;
  readonly message: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly hint: string | undefined;
  readonly exitCode: number;
}

const EXIT_OF: Partial<Record<Code, number>> = {
  [Code.Unauthenticated]: EXIT_DENIED,
  [Code.PermissionDenied]: EXIT_DENIED,
  [Code.NotFound]: EXIT_NOT_FOUND,
};

/** Advice on refusals, by reason. */
export type Hints = Readonly<Record<string, string>>;

/** For reasons whose explanation in the catalogue does not fit a terminal user. */
const HINTS: Hints = {
  MISSING_CREDENTIAL: 'Sign in with "svc login", or set SVC_API_KEY to a key',
  CREDENTIAL_EXPIRED: 'Sign in again with "svc login", or use a new key',
  CREDENTIAL_REVOKED: 'Sign in again with "svc login", or use the successor of the key',
  PROJECT_BOUNDARY:
    'A key works only in its own project. "svc projects list" shows the projects that you are a member of',
  HUMAN_OPERATION: 'Keys cannot do this. Sign in with "svc login" and run it again',
  SIGN_IN_TOO_OLD: 'Run "svc login", then this command again',
  TOO_MANY_REQUESTS: 'Try again later, or allow more time with --timeout',
  STALE_VERSION: 'Another user changed it in the meantime. Check it, and run the command again',
  UNKNOWN_PATH: 'The service is older than this command and does not have this method',
};

/**
 * The refusal in an error of the API; undefined for any other error. @param hints of the action,
 * which knows the credential of its caller
 */
export function refusalOf(error: unknown, hints: Hints = {}): ServiceRefusal | undefined {
  if (!(error instanceof ConnectError)) return undefined;
  const [info] = error.findDetails(ErrorInfoSchema);
  const reason = info?.reason ?? snakeCase(Code[error.code] ?? 'unknown');
  const metadata = { ...info?.metadata, ...retryAfterOf(error) };
  return {
    reason,
    metadata,
    message: error.rawMessage,
    hint: hints[reason] ?? hintFrom(reason, metadata) ?? HINTS[reason] ?? explanationOf(reason),
    exitCode: EXIT_OF[error.code] ?? EXIT_FAULT,
  };
}

/** A hint from the metadata of a refusal, more specific than its reason. */
function hintFrom(
  reason: string,
  { role, capability, correlation, metricId, known }: Readonly<Record<string, string>>,
): string | undefined {
  if (reason === 'UNKNOWN_METRIC') {
    const closest = closestName(metricId ?? '', known?.split(', ') ?? []);
    return closest && `Did you mean ${JSON.stringify(closest)}?`;
  }
  if (reason === 'EXCHANGE_DENIED' && correlation) {
    return `An owner of the project can look up this refusal: svc audit list --correlation ${correlation}`;
  }
  if (reason !== 'MISSING_CAPABILITY') return undefined;
  if (role) return 'An owner of the project can give you another role: svc members role';
  if (!capability) return undefined;
  return `A key is limited to the permissions it was created with and those of its owner. Missing here: ${capability}`;
}

function explanationOf(reason: string): string | undefined {
  return Object.entries(errorCatalogue).find(([known]) => known === reason)?.[1].explanation;
}

function retryAfterOf(error: ConnectError): { retryAfterSeconds?: string } {
  const retryAfterSeconds = error.metadata.get('retry-after');
  return retryAfterSeconds === null ? {} : { retryAfterSeconds };
}

interface FaultPlace {
  readonly command: string;
  readonly json: boolean;
  readonly hints?: Hints | undefined;
  /** Advice on a rejected field of the request; undefined to use that of the reason. */
  readonly fieldHint?: (field: string) => string | undefined;
}

/** An error as lines for a person, or as one JSON document for a program; undefined for a bug. */
export function describeFault(
  error: unknown,
  { command, json, hints, fieldHint }: FaultPlace,
): { readonly text: string; readonly exitCode: number } | undefined {
  const refusal = refusalOf(error, hints);
  const fault = refusal ?? (error instanceof Fault ? error : undefined);
  if (!fault) return undefined;
  const { exitCode } = fault;
  const field = refusal?.reason === 'INVALID_FIELD' ? refusal.metadata.field : undefined;
  const hint = (field && fieldHint?.(field)) || fault.hint;
  const message = refusal?.message ?? (error as Fault).message;
  if (json) {
    const { reason, metadata } = refusal ?? { reason: (error as Fault).reason, metadata: {} };
    return {
      exitCode,
      text: `${JSON.stringify({ error: { reason, message, metadata, hint } })}\n`,
    };
  }
  const { reason } = refusal ?? (error as Fault);
  const named = reason === 'CLIENT' ? '' : `${reason}: `;
  const said = error instanceof UsageError ? printableLines(message) : printable(message);
  const head = `svc ${command}: ${named}${said}`;
  const facts = Object.entries(refusal?.metadata ?? {})
    .filter(([name]) => name !== 'claims')
    .map(([name, value]) => `  ${name}: ${printable(value)}`);
  const advice = hint ? hint.split('\n').map((line) => `  ${line}`) : [];
  return { exitCode, text: `${[head, ...facts, ...advice].join('\n')}\n` };
}

// Colours, cursor movements and line ends in foreign texts must not reach a terminal or a job's log.
// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern searches for them
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g;

/** Removes control characters, so that foreign names cannot control a terminal. */
export function printable(text: string): string {
  return text.replaceAll(CONTROL, '\ufffd');
}

/** The same for multi-line texts of this program: lines after the first are indented. */
export function printableLines(text: string): string {
  return text.split('\n').map(printable).join('\n  ');
}

function snakeCase(name: string): string {
  return name.replace(/([a-z])([A-Z])/g, '$1_$2').toLowerCase();
}
