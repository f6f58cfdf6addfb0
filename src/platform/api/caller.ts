/**
 * The caller as handlers see it: put into the call's context by the access interceptor, never read
 * from the message. Handlers can get a project only through `within`.
 */
import { createHash } from 'node:crypto';
import { type DescMessage, type MessageShape, toBinary } from '@bufbuild/protobuf';
import { createContextKey, type HandlerContext } from '@connectrpc/connect';
import { signInTooOld } from '../../../actors/identity/recent-sign-in.ts';
import type { RequestKey } from '../../../actors/platform/host/host-port.ts';
import type { Actor } from '../../../streams/platform/commit/commit.ts';
import { Refusal } from '../../../streams/platform/refusal.ts';
import type { Policy } from '../../gen/svc/options/v1/policy_pb.ts';
import { type Authenticator, checkAccess } from '../access/authenticator.ts';
import { admitTo, type CallTarget, enterProject, WRITE_POLICY } from '../access/authorize.ts';
import { policyOf } from '../access/policy.ts';
import type { CredentialPrincipal, HumanPrincipal, Principal } from '../access/principal.ts';

/** The admitted caller, and the function that checks its access again. */
interface AdmittedCaller {
  readonly principal: Principal;
  readonly authenticator: Pick<Authenticator, 'recordRefused' | 'revalidate' | 'watch'>;
}

export const callerKey = createContextKey<AdmittedCaller | undefined>(undefined, {
  description: 'the caller',
});

/** The admitted caller. Throws an Error if the gate did not run, which is a bug. */
export function callerOf(context: HandlerContext): Principal {
  return admitted(context).principal;
}

function admitted(context: HandlerContext): AdmittedCaller {
  const caller = context.values.get(callerKey);
  if (!caller) throw new Error('A handler ran without the gate');
  return caller;
}

/** The caller as a person; the method's policy ensures that it is one. */
export function personOf(context: HandlerContext): HumanPrincipal {
  const caller = callerOf(context);
  if (caller.kind === 'human') return caller;
  throw new Error('A method for people ran for a credential');
}

/** The caller as a credential; the method's policy ensures that it is one. */
export function credentialOf(context: HandlerContext): CredentialPrincipal {
  const caller = callerOf(context);
  if (caller.kind !== 'human') return caller;
  throw new Error('A method for credentials ran for a person');
}

/**
 * The project id, if the caller may use this method there: a credential's own project, or one in
 * which the person has the role that the method needs. Checks the caller's access again, because it
 * may have ended while the body arrived. Throws PROJECT_BOUNDARY otherwise, MISSING_CAPABILITY if
 * the role is too low, and what authentication throws.
 *
 * @param member for OWNER_OR_SELF and OWNER_AND_SELF methods: the member who owns the resource, if
 * one does
 */
export function within(context: HandlerContext, project: string, member?: string): string {
  const { principal, authenticator } = admitted(context);
  const caller = authenticator.revalidate(principal);
  checkAccess(authenticator, caller, () => enter(context, caller, project, member));
  return project;
}

/**
 * For responses that stay open: calls `onLost` once, within a second, when the caller may no longer
 * use this method in the project. Returns a function that ends the watch.
 */
export function watchAccess(
  context: HandlerContext,
  project: string,
  onLost: (why: Refusal) => void,
): () => void {
  const { principal, authenticator } = admitted(context);
  return authenticator.watch(principal, onLost, (now) => enter(context, now, project));
}

function enter(context: HandlerContext, caller: Principal, project: string, member?: string): void {
  const { method } = context;
  const declared = policyOf(method);
  enterAs(declared, caller, { name: method.name, project, member });
  if (declared.recentSignIn) assertRecent(caller);
}

/**
 * Throws SIGN_IN_TOO_OLD unless the person has signed in recently. For methods that make lasting
 * access with some requests only. Call it after `within`.
 */
export function assertRecentSignIn(context: HandlerContext): void {
  const { principal, authenticator } = admitted(context);
  assertRecent(authenticator.revalidate(principal));
}

function assertRecent(caller: Principal): void {
  if (caller.kind === 'human' && !caller.isRecent) throw signInTooOld();
}

function enterAs(declared: Policy, caller: Principal, target: CallTarget): void {
  admitTo(target.name, declared, caller);
  enterProject(caller, declared, target);
}

/** Asserts access for an action in the project that needs more than the method itself. */
export function assertMay(
  context: HandlerContext,
  declared: Policy,
  target: Omit<CallTarget, 'member'>,
): void {
  enterAs(declared, callerOf(context), target);
}

/** True if the caller meets `declared` in the project, whatever this method needs. */
export function may(context: HandlerContext, declared: Policy, project: string): boolean {
  try {
    assertMay(context, declared, { name: context.method.name, project });
    return true;
  } catch (error) {
    if (error instanceof Refusal) return false;
    throw error;
  }
}

/**
 * True if the caller may do what needs `monitoring.write` in the project, whatever this method
 * needs.
 */
export function mayWrite(context: HandlerContext, project: string): boolean {
  return may(context, WRITE_POLICY, project);
}

export function actorOf(context: HandlerContext): Actor {
  const { kind, name } = callerOf(context);
  const kinds = { human: 'human', ci: 'ci', col: 'collector', vm: 'collector' } as const;
  return { kind: kind === 'pk' || kind === 'sk' ? 'key' : kinds[kind], name };
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Checks a UUID from the client. Throws INVALID_FIELD. */
export function checkUuid(field: string, value: string): void {
  if (UUID.test(value)) return;
  const seen = value === '' ? 'missing' : 'not a UUID';
  throw new Refusal(
    'INVALID_FIELD',
    `${field} is ${seen}: make a new UUID, and keep it for retries`,
    {
      field,
    },
  );
}

/** The request's key: an exact resend has the same id and the same digest of method and message. */
export function requestKeyOf<D extends DescMessage>(
  context: HandlerContext,
  schema: D,
  message: MessageShape<D> & { requestId: string },
): RequestKey {
  checkUuid('requestId', message.requestId);
  const { name } = callerOf(context);
  const digest = createHash('sha256').update(`${context.method.name}\n`);
  return {
    scope: name,
    id: message.requestId,
    fingerprint: digest.update(toBinary(schema, message)).digest('hex'),
  };
}
