/**
 * Slots of RPCs in the `ProjectGate`. A credential's call takes a slot when its body has arrived.
 * The body of a person's call names the project, so that call takes its slot after parsing: a slot
 * of the project for members, otherwise one of the person. The slot is released once the response
 * is made.
 */
import {
  type ConnectRouter,
  type ContextValues,
  createContextKey,
  createContextValues,
  type HandlerContext,
  type Interceptor,
} from '@connectrpc/connect';
import type { UniversalHandlerFn } from '@connectrpc/connect/protocol';
import type { Principal } from '../access/principal.ts';
import { type CallClass, classOfMethod } from '../gate/call-classes.ts';
import {
  type GateCaller,
  gateCallerOf,
  type Pass,
  type ProjectGate,
} from '../gate/project-gate.ts';
import { callerKey, callerOf } from './caller.ts';

/** The slot of one call, from before it is admitted: its caller, its pass, and its body. */
export interface CallSlot {
  readonly gate: ProjectGate;
  pass?: Pass;
  tenant?: string;
  /** The caller, once admitted, of a call with a credential or a session. */
  caller?: GateCaller;
  kind: CallClass;
  isPerson: boolean;
  /** Aborts when the client disconnects or its deadline passes. */
  signal?: AbortSignal;
  /** Maps an error to the message for the caller. */
  toCallerError?: (error: unknown) => unknown;
  /** Project against whose rate the body counts from the start. */
  ratedProject?: string;
  /** Size of the body in bytes; packed or unpacked, whichever is larger. */
  bodyBytes: number;
}

const slotKey = createContextKey<CallSlot | undefined>(undefined, { description: 'its slot' });

/** The slot of a call, once the handler has begun. */
export function slotOf(values: ContextValues): CallSlot | undefined {
  return values.get(slotKey);
}

/** Records the caller, for `requestGate`. Throws an Error without `releaseSlots`: a bug. */
export function recordCaller(
  { values, method, signal }: HandlerContext,
  principal: Principal,
  { toCallerError, ratedProject }: Pick<CallSlot, 'toCallerError' | 'ratedProject'>,
): void {
  const slot = values.get(slotKey);
  if (!slot) throw new Error('A call was admitted without a bound: releaseSlots has not run');
  const caller = gateCallerOf(principal);
  const isPerson = principal.kind === 'human';
  const rated = ratedProject === undefined ? {} : { ratedProject };
  Object.assign(slot, {
    caller,
    isPerson,
    signal,
    toCallerError,
    kind: classOfMethod(method),
    ...rated,
  });
}

/**
 * Takes the slot of a credential's call. People's calls take theirs later, streams in their
 * handler.
 */
export async function takeSlot(slot: CallSlot): Promise<void> {
  const { gate, caller, kind, signal, isPerson, bodyBytes } = slot;
  if (!caller || !signal) throw new Error('A call took a slot before it was admitted');
  if (isPerson) return await gate.turn(caller.tenant);
  hold(slot, caller, await gate.enter(caller, kind, signal, bodyBytes));
}

/** Takes the slots of people's calls, once their messages have named the project. */
export function slotsOfPeople(gate: ProjectGate): Interceptor {
  return (next) => async (request) => {
    const principal = request.contextValues.get(callerKey)?.principal;
    if (principal?.kind !== 'human' || request.stream) return await next(request);
    const named = projectNamedIn(request.message);
    const isMember = named !== undefined && principal.memberOf(named) !== undefined;
    const caller = gateCallerOf(principal, isMember ? named : undefined);
    const slot = request.contextValues.get(slotKey);
    const kind = classOfMethod(request.method);
    const pass = await gate.enter(caller, kind, request.signal, slot?.bodyBytes);
    hold(slot, caller, pass);
    return await next(request);
  };
}

const PROJECT_IN_NAME = /^projects\/([^/]+)/;

/** Id of the first project that a field of the message names: `projectName`, `name`, `parent`. */
function projectNamedIn(message: object): string | undefined {
  for (const value of Object.values(message)) {
    const named = typeof value === 'string' ? PROJECT_IN_NAME.exec(value)?.[1] : undefined;
    if (named !== undefined) return named;
  }
  return undefined;
}

function hold(slot: CallSlot | undefined, { tenant }: GateCaller, pass: Pass): void {
  if (slot === undefined) {
    pass.release();
    throw new Error('A call took a slot that is never released');
  }
  slot.pass = pass;
  slot.tenant = tenant;
}

/**
 * Takes one of the open streams of a project, until the call ends. Throws a `Refusal`
 * TOO_MANY_REQUESTS.
 */
export async function takeStreamSlot(
  gate: ProjectGate,
  context: HandlerContext,
  project: string,
): Promise<Pass> {
  const caller = gateCallerOf(callerOf(context), project);
  return await gate.enter(caller, 'stream', context.signal);
}

/** Resolves at the next turn of this call's project: for responses that are made in slices. */
export function turnsOf(context: HandlerContext): () => Promise<void> {
  const slot = context.values.get(slotKey);
  if (!slot) throw new Error('A handler requested turns without a slot');
  const tenant = slot.tenant ?? callerOf(context).name;
  return () => slot.gate.turn(tenant);
}

/** Releases slots once responses are made. It wraps the registered handlers: call it once, last. */
export function releaseSlots(router: ConnectRouter, gate: ProjectGate): void {
  for (const [i, handler] of router.handlers.entries()) {
    const releasing: UniversalHandlerFn = async (request) => {
      const slot: CallSlot = { gate, kind: 'call', isPerson: false, bodyBytes: 0 };
      const contextValues = request.contextValues ?? createContextValues();
      contextValues.set(slotKey, slot);
      try {
        return await handler({ ...request, contextValues });
      } finally {
        slot.pass?.release();
      }
    };
    router.handlers[i] = Object.assign(releasing, handler);
  }
}
