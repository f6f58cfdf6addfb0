/**
 * What every call passes before its body is read: the protocol's version, access by the method's
 * declared policy, and the position in the log that the caller wants to read from. Before the
 * body, because a caller without access must not make us read, decompress or parse anything.
 */
import { getOption } from '@bufbuild/protobuf';
import type { HandlerContext } from '@connectrpc/connect';
import { Refusal } from '../../streams/refusal.ts';
import type { Authenticator } from '../auth/authenticator.ts';
import { admitTo } from '../auth/authorize.ts';
import type { HumanPrincipal } from '../auth/principal.ts';
import { Policy_Access, policy } from '../gen/svc/options/v1/policy_pb.ts';
import { SEQUENCE_HEADER, type SequenceDeps } from '../http/sequence.ts';
import type { Log } from '../log.ts';
import { callerKey } from './caller.ts';
import { asConnectError } from './told-errors.ts';

/** The one version of the Connect protocol (interface, section 9); absent is taken as it. */
const PROTOCOL_VERSION = '1';

export interface GateDeps extends SequenceDeps {
  readonly authenticator: Authenticator;
  /** The Set-Cookie value with a session's new secret, when it is due. Absent: nobody signs in. */
  readonly rotateCookie?: (session: HumanPrincipal) => Promise<string | undefined>;
  readonly log: Log;
}

/** Connect's `requestGate`. Throws `ConnectError`. */
export function requestGate(deps: GateDeps): (context: HandlerContext) => Promise<void> {
  return async (context) => {
    try {
      checkVersion(context.requestHeader.get('connect-protocol-version'));
      const isAdmitted = await admit(deps, context);
      const wanted = context.requestHeader.get(SEQUENCE_HEADER);
      // Whom nobody knows must not hold a connection here for as long as a wait takes.
      if (isAdmitted && wanted !== null) await deps.positions.waitFor(wanted);
    } catch (error) {
      throw asConnectError(error, context.method.name, deps.log);
    }
  };
}

function checkVersion(version: string | null): void {
  if (version === null || version === PROTOCOL_VERSION) return;
  throw new Refusal(
    'INVALID_FIELD',
    `Connect-Protocol-Version is "${version.slice(0, 20)}": send ${PROTOCOL_VERSION}, or nothing`,
    { field: 'Connect-Protocol-Version' },
  );
}

/**
 * Puts the caller into the call's context, where `callerOf` finds it; false for methods that ask
 * for none.
 */
async function admit(deps: GateDeps, context: HandlerContext): Promise<boolean> {
  const { authenticator, rotateCookie } = deps;
  const declared = getOption(context.method, policy);
  if (declared.access === Policy_Access.NONE) return false;
  const header = (field: string) => context.requestHeader.get(field) ?? undefined;
  const principal = await authenticator.identify({
    authorization: header('authorization'),
    cookie: header('cookie'),
    origin: header('origin'),
  });
  admitTo(context.method.name, declared, principal);
  context.values.set(callerKey, { principal, authenticator });
  if (principal.kind !== 'human') return true;
  const cookie = await rotateCookie?.(principal);
  if (cookie !== undefined) context.responseHeader.append('set-cookie', cookie);
  return true;
}
