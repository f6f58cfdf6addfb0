/**
 * The gate that every call passes before its body is read: protocol version, access by the method's
 * declared policy, and the position in the log that the caller wants to read from. A caller without
 * access must not make the service read, decompress or parse anything.
 */
import { createContextKey, type HandlerContext, type Interceptor } from '@connectrpc/connect';
import { SYSTEM_PROJECT } from '../../../streams/platform/commit/commit.ts';
import { invalidField } from '../../../streams/platform/refusal.ts';
import { Policy_Access } from '../../gen/svc/options/v1/policy_pb.ts';
import { type Authenticator, checkAccess } from '../access/authenticator.ts';
import { admitTo } from '../access/authorize.ts';
import { policyOf } from '../access/policy.ts';
import type { HumanPrincipal, Principal } from '../access/principal.ts';
import { gateCallerOf } from '../gate/project-gate.ts';
import type { AnonymousLimits } from '../http/anonymous-limits.ts';
import { SEQUENCE_HEADER, type SequenceDeps } from '../http/sequence.ts';
import type { Log } from '../log.ts';
import { callerKey } from './caller.ts';
import { asConnectError, endOf } from './error-mapping.ts';
import { recordCaller } from './slots.ts';

/** The only version of the Connect protocol (API-12); a missing version counts as this one. */
const PROTOCOL_VERSION = '1';

/** Address of the caller; behind a trusted proxy, the address that it forwards. */
export const addressKey = createContextKey('', { description: 'address of the caller' });

/** Function to call when a call without a credential has succeeded. */
const admissionKey = createContextKey<(() => void) | undefined>(undefined, {
  description: 'admission of a caller without a credential',
});

export interface GateDeps extends SequenceDeps {
  readonly anonymousLimits: AnonymousLimits;
  readonly authenticator: Authenticator;
  /**
   * Returns the Set-Cookie value with a session's new secret, if it is due. Absent: no one signs
   * in.
   */
  readonly rotateCookie?: (session: HumanPrincipal) => Promise<string | undefined>;
  readonly log: Log;
}

/** Connect's `requestGate`. Throws `ConnectError`. */
export function requestGate(deps: GateDeps): (context: HandlerContext) => Promise<void> {
  return async (context) => {
    endCheaply(context);
    try {
      checkVersion(context.requestHeader.get('connect-protocol-version'));
      const principal = await admit(deps, context);
      // An anonymous caller must not hold a connection while it waits for a position.
      if (principal === undefined) return;
      const { signal, requestHeader } = context;
      const wanted = requestHeader.get(SEQUENCE_HEADER);
      const waiter = { caller: gateCallerOf(principal), signal };
      if (wanted !== null) await deps.positions.waitFor(wanted, waiter);
      const toCallerError = (error: unknown) => callerError(error, context, deps.log);
      const ratedProject = ratedProjectOf(context, principal);
      recordCaller(context, principal, { toCallerError, ...(ratedProject && { ratedProject }) });
    } catch (error) {
      throw callerError(error, context, deps.log);
    }
  };
}

/** Reason of a call's signal after its response: nothing waits for the signal any longer. */
const ANSWERED = new Error('The call has been answered');

/**
 * Connect aborts each call's signal once it is answered. Without a reason that makes an exception
 * with a stack, which costs more than the rest of the gate.
 */
function endCheaply(context: HandlerContext & { abort?(reason?: unknown): void }): void {
  const { abort } = context;
  if (abort) context.abort = (reason: unknown = ANSWERED) => abort(reason);
}

/** The error that the caller sees; for a call that has ended, an error that says so. */
function callerError(error: unknown, { signal, method }: HandlerContext, log: Log): unknown {
  // Before a handler runs, nothing but the end of the call can fail it.
  if (signal.aborted) return endOf(signal);
  return asConnectError(error, method.name, log);
}

/** Reverts the count of a call without a credential when it succeeds. */
export const recordAnonymousSuccess: Interceptor = (next) => async (request) => {
  const answer = await next(request);
  request.contextValues.get(admissionKey)?.();
  return answer;
};

/**
 * Project against whose rate the body counts, known before the body is read. A collector for all
 * projects names its project only in the body.
 */
function ratedProjectOf({ method }: HandlerContext, principal: Principal): string | undefined {
  if (method.name !== 'WriteSamples' || principal.kind === 'human') return undefined;
  return principal.project === SYSTEM_PROJECT ? undefined : principal.project;
}

function checkVersion(version: string | null): void {
  if (version === null || version === PROTOCOL_VERSION) return;
  throw invalidField(
    'Connect-Protocol-Version',
    `Connect-Protocol-Version is "${version.slice(0, 20)}": send ${PROTOCOL_VERSION}, or omit it`,
  );
}

/**
 * Puts the caller into the call's context, where `callerOf` finds it; undefined for methods that
 * need no caller.
 */
async function admit(deps: GateDeps, context: HandlerContext): Promise<Principal | undefined> {
  const { authenticator, rotateCookie, anonymousLimits } = deps;
  const declared = policyOf(context.method);
  const address = context.values.get(addressKey);
  if (declared.access === Policy_Access.NONE) {
    context.values.set(admissionKey, anonymousLimits.admit(address));
    return undefined;
  }
  const header = (field: string) => context.requestHeader.get(field) ?? undefined;
  const presented = {
    authorization: header('authorization'),
    cookie: header('cookie'),
    origin: header('origin'),
    host: header('host'),
    address,
  };
  const principal = await anonymousLimits.authenticated(address, () =>
    authenticator.identify(presented),
  );
  checkAccess(authenticator, principal, () => admitTo(context.method.name, declared, principal));
  context.values.set(callerKey, { principal, authenticator });
  if (principal.kind !== 'human') return principal;
  const cookie = await rotateCookie?.(principal);
  if (cookie !== undefined) context.responseHeader.append('set-cookie', cookie);
  return principal;
}
