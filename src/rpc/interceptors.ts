/**
 * What every call passes, outermost first: errors become what a caller may see, then access by the
 * method's declared policy, then the position in the log (read your writes). Handlers hold none of
 * this.
 */
import { getOption } from '@bufbuild/protobuf';
import { Code, ConnectError, type Interceptor } from '@connectrpc/connect';
import type { Host } from '../../actors/host-port.ts';
import type { Clock } from '../../streams/clock.ts';
import { Refusal } from '../../streams/refusal.ts';
import { StreamUnavailable } from '../../streams/stream.ts';
import type { Authenticator } from '../auth/authenticator.ts';
import { toConnectError } from '../errors.ts';
import { type Policy, Policy_Access, policy } from '../gen/svc/options/v1/policy_pb.ts';
import type { Log } from '../log.ts';
import { principalKey } from './caller.ts';

/** Header with a position in EVENTS: told in every answer, waited for when a request sends it. */
export const SEQUENCE_HEADER = 'svc-sequence';
/** Longest wait for a position that this node has not applied yet, ms. */
const SEQUENCE_WAIT_MS = 5_000;

export interface InterceptorDeps {
  readonly host: Pick<Host, 'appliedSequence' | 'waitFor'>;
  readonly authenticator: Authenticator;
  readonly clock: Clock;
  readonly log: Log;
}

export function interceptors(deps: InterceptorDeps): Interceptor[] {
  return [errorsAsTold(deps.log), access(deps.authenticator), position(deps)];
}

/** The capability that each declared access needs. */
const CAPABILITY: Readonly<Partial<Record<Policy_Access, string>>> = {
  [Policy_Access.READ]: 'monitoring.read',
  [Policy_Access.WRITE]: 'monitoring.write',
  [Policy_Access.COLLECTOR]: 'collector',
};

/** The capability a method needs. Throws for a method that declares no policy: it is refused. */
export function capabilityFor(name: string, declared: Policy): string {
  const capability = CAPABILITY[declared.access];
  if (capability === undefined) {
    throw new Refusal('MISSING_CAPABILITY', `${name} declares no policy: nobody may call it`);
  }
  return capability;
}

function access(authenticator: Authenticator): Interceptor {
  return (next) => (request) => {
    const capability = capabilityFor(request.method.name, getOption(request.method, policy));
    const principal = authenticator.authenticate(request.header.get('authorization') ?? undefined);
    if (!principal.capabilities.includes(capability)) {
      throw new Refusal(
        'MISSING_CAPABILITY',
        `${request.method.name} needs ${capability}, which the credential does not have`,
        { capability },
      );
    }
    request.contextValues.set(principalKey, principal);
    return next(request);
  };
}

function position({ host, clock }: InterceptorDeps): Interceptor {
  return (next) => async (request) => {
    const wanted = request.header.get(SEQUENCE_HEADER);
    if (wanted !== null) await waitFor(host, clock, wanted);
    const answer = await next(request);
    answer.header.set(SEQUENCE_HEADER, String(host.appliedSequence()));
    return answer;
  };
}

async function waitFor(host: InterceptorDeps['host'], clock: Clock, wanted: string): Promise<void> {
  const sequence = Number(wanted);
  if (!/^\d{1,16}$/.test(wanted)) {
    throw new Refusal('INVALID_FIELD', `${SEQUENCE_HEADER} is not a position`, {
      field: SEQUENCE_HEADER,
    });
  }
  if (host.appliedSequence() >= sequence) return;
  const patience = new AbortController();
  const cancel = clock.wakeAfter(SEQUENCE_WAIT_MS, () => patience.abort());
  try {
    await host.waitFor(sequence, patience.signal);
  } catch (error) {
    throw patience.signal.aborted
      ? new Refusal('NOT_READY', `This node has not reached position ${wanted} yet`)
      : error;
  } finally {
    cancel();
  }
}

/** Refusals keep their reason; anything unforeseen is told to the log, and to nobody else. */
function errorsAsTold(log: Log): Interceptor {
  return (next) => async (request) => {
    try {
      return await next(request);
    } catch (error) {
      throw asConnectError(error, request.method.name, log);
    }
  };
}

/** The error as a caller may see it. */
export function asConnectError(error: unknown, method: string, log: Log): ConnectError {
  if (error instanceof Refusal) return toConnectError(error);
  if (error instanceof StreamUnavailable) {
    return toConnectError(
      new Refusal('NOT_READY', `${error.message}; send the same request again`),
    );
  }
  if (error instanceof ConnectError) return remapTooLarge(error);
  log.error({ err: error, method }, 'A call failed unexpectedly');
  return new ConnectError('Internal error; the service log tells more', Code.Internal);
}

/** The framework answers 429 to a body over its limit; that is kept for "back off". */
function remapTooLarge(error: ConnectError): ConnectError {
  if (error.code !== Code.ResourceExhausted) return error;
  return toConnectError(new Refusal('REQUEST_TOO_LARGE', 'The request body exceeds 1 MiB'));
}
