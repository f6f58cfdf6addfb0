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

/** The slot of one call: what it holds or will hold, and its project's turns. */
export interface HeldSlot {
  readonly gate: ProjectGate;
  pass?: Pass;
  party?: string;
  /** The caller, once admitted, of a call with a credential or a session. */
  caller?: GateCaller;
  kind: CallClass;
  isPerson: boolean;
  /** Aborts when the client disconnects or its deadline passes. */
  signal?: AbortSignal;
  /** Maps an error to what the caller sees. */
  toCallerError?: (error: unknown) => unknown;
  /** Project against whose rate the body counts from the start. */
  ratedProject?: string;
  /** Size of the body in bytes; packed or unpacked, whichever is larger. */
  bodyBytes: number;
}

const placeKey = createContextKey<HeldSlot | undefined>(undefined, { description: 'its slot' });

/** The slot of a call, once the handler has begun. */
export function heldSlotOf(values: ContextValues): HeldSlot | undefined {
  return values.get(placeKey);
}

/** Records the caller, for `requestGate`. Throws an Error without `releaseSlots`: a bug. */
export function recordCaller(
  { values, method, signal }: HandlerContext,
  principal: Principal,
  { toCallerError, ratedProject }: Pick<HeldSlot, 'toCallerError' | 'ratedProject'>,
): void {
  const held = values.get(placeKey);
  if (!held) throw new Error('A call was admitted without a bound: releaseSlots has not run');
  const caller = gateCallerOf(principal);
  const isPerson = principal.kind === 'human';
  const rated = ratedProject === undefined ? {} : { ratedProject };
  Object.assign(held, {
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
export async function takeSlot(held: HeldSlot): Promise<void> {
  const { gate, caller, kind, signal, isPerson, bodyBytes } = held;
  if (!caller || !signal) throw new Error('A call took a slot before it was admitted');
  if (isPerson) return await gate.turn(caller.party);
  hold(held, caller, await gate.enter(caller, kind, signal, bodyBytes));
}

/** Takes the slots of people's calls, once their messages have named the project. */
export function slotsOfPeople(gate: ProjectGate): Interceptor {
  return (next) => async (request) => {
    const principal = request.contextValues.get(callerKey)?.principal;
    if (principal?.kind !== 'human' || request.stream) return await next(request);
    const named = projectNamedIn(request.message);
    const isMember = named !== undefined && principal.memberOf(named) !== undefined;
    const caller = gateCallerOf(principal, isMember ? named : undefined);
    const held = request.contextValues.get(placeKey);
    const kind = classOfMethod(request.method);
    const pass = await gate.enter(caller, kind, request.signal, held?.bodyBytes);
    hold(held, caller, pass);
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

function hold(held: HeldSlot | undefined, { party }: GateCaller, pass: Pass): void {
  if (held === undefined) {
    pass.release();
    throw new Error('A call took a slot that is never released');
  }
  held.pass = pass;
  held.party = party;
}

/**
 * Takes one of the open streams of a project, until the call ends. Throws a `Refusal`
 * TOO_MANY_REQUESTS.
 */
export async function openStream(
  gate: ProjectGate,
  context: HandlerContext,
  project: string,
): Promise<Pass> {
  const caller = gateCallerOf(callerOf(context), project);
  return await gate.enter(caller, 'stream', context.signal);
}

/** Resolves at the next turn of this call's project: for responses that are made in slices. */
export function turnsOf(context: HandlerContext): () => Promise<void> {
  const held = context.values.get(placeKey);
  if (!held) throw new Error('A handler requested turns without a slot');
  const party = held.party ?? callerOf(context).name;
  return () => held.gate.turn(party);
}

/** Releases slots once responses are made. It wraps the registered handlers: call it once, last. */
export function releaseSlots(router: ConnectRouter, gate: ProjectGate): void {
  for (const [i, handler] of router.handlers.entries()) {
    const releasing: UniversalHandlerFn = async (request) => {
      const held: HeldSlot = { gate, kind: 'call', isPerson: false, bodyBytes: 0 };
      const contextValues = request.contextValues ?? createContextValues();
      contextValues.set(placeKey, held);
      try {
        return await handler({ ...request, contextValues });
      } finally {
        held.pass?.release();
      }
    };
    router.handlers[i] = Object.assign(releasing, handler);
  }
}
