/**
 * What every call passes before its body is read: the protocol's version, access by the method's
 * declared policy, and the position in the log that the caller wants to read from. Before the
 * body, because a caller without access must not make us read, decompress or parse anything.
 */
import { getOption } from '@bufbuild/protobuf';
import type { HandlerContext } from '@connectrpc/connect';
import type { Host } from '../../actors/host-port.ts';
import type { Clock } from '../../streams/clock.ts';
import { Refusal } from '../../streams/refusal.ts';
import type { Authenticator } from '../auth/authenticator.ts';
import { admitTo } from '../auth/authorize.ts';
import type { HumanPrincipal } from '../auth/principal.ts';
import { Policy_Access, policy } from '../gen/svc/options/v1/policy_pb.ts';
import type { Log } from '../log.ts';
import { callerKey } from './caller.ts';
import { asConnectError } from './told-errors.ts';

/** Header with a position in EVENTS: told in every answer, waited for when a request sends it. */
export const SEQUENCE_HEADER = 'svc-sequence';
/** Longest wait for a position that this node has not applied yet, ms. */
const SEQUENCE_WAIT_MS = 5_000;
/** The one version of the Connect protocol (interface, section 9); absent is taken as it. */
const PROTOCOL_VERSION = '1';

export interface GateDeps {
  readonly host: Pick<Host, 'appliedSequence' | 'waitFor'>;
  readonly authenticator: Authenticator;
  /** The Set-Cookie value with a session's new secret, when it is due. Absent: nobody signs in. */
  readonly rotateCookie?: (session: HumanPrincipal) => Promise<string | undefined>;
  readonly clock: Clock;
  readonly log: Log;
}

/** Connect's `requestGate`. Throws `ConnectError`. */
export function requestGate(deps: GateDeps): (context: HandlerContext) => Promise<void> {
  return async (context) => {
    try {
      checkVersion(context.requestHeader.get('connect-protocol-version'));
      await admit(deps, context);
      const wanted = context.requestHeader.get(SEQUENCE_HEADER);
      if (wanted !== null) await waitFor(deps, wanted);
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

/** Puts the caller into the call's context, where `callerOf` finds it. */
async function admit(deps: GateDeps, context: HandlerContext): Promise<void> {
  const { authenticator, rotateCookie } = deps;
  const declared = getOption(context.method, policy);
  if (declared.access === Policy_Access.NONE) return;
  const header = (field: string) => context.requestHeader.get(field) ?? undefined;
  const principal = await authenticator.identify({
    authorization: header('authorization'),
    cookie: header('cookie'),
    origin: header('origin'),
  });
  admitTo(context.method.name, declared, principal);
  context.values.set(callerKey, { principal, authenticator });
  if (principal.kind !== 'human') return;
  const cookie = await rotateCookie?.(principal);
  if (cookie !== undefined) context.responseHeader.append('set-cookie', cookie);
}

async function waitFor({ host, clock }: GateDeps, wanted: string): Promise<void> {
  if (!/^\d{1,15}$/.test(wanted)) {
    const message = `${SEQUENCE_HEADER} is not a position: send back what an answer told`;
    throw new Refusal('INVALID_FIELD', message, { field: SEQUENCE_HEADER });
  }
  const sequence = Number(wanted);
  if (host.appliedSequence() >= sequence) return;
  const patience = new AbortController();
  const cancel = clock.wakeAfter(SEQUENCE_WAIT_MS, () => patience.abort());
  try {
    await host.waitFor(sequence, patience.signal);
  } catch (error) {
    throw patience.signal.aborted
      ? new Refusal('NOT_READY', `This node has not reached position ${wanted} yet: ask again`)
      : error;
  } finally {
    cancel();
  }
}
