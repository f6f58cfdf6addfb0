/**
 * Classes of calls: what waits behind what. Calls of one class share the slots of a project, so that
 * a project's slow queries do not keep its own lists and acknowledgements waiting.
 */
import { type DescMethod, getOption } from '@bufbuild/protobuf';
import type { ProjectLimits } from '../../../actors/platform/project-limits.ts';
import { Policy_Access, policy } from '../../gen/svc/options/v1/policy_pb.ts';

export const CALL_CLASSES = [
  /** Everything that answers from the projection or changes it: get, list, audit, mutations. */
  'call',
  /** What people change: whoever ends a key must not wait behind what the key does. */
  'change',
  /** Work of the query threads: PromQL, queries, previews, replays, explanations. */
  'query',
  /** Lists of VMs, which have a thread of their own. */
  'list',
  /** Export shards, which have one too. */
  'export',
  /** Samples through the RPC framework; the binary handler before it waits for nothing. */
  'write',
  /** Requests that wait until this node has applied a position in the log. */
  'position',
  /** Answers that stay open. */
  'stream',
] as const;

export type CallClass = (typeof CALL_CLASSES)[number];

export interface ClassRules {
  /** Which limit of the project bounds it. */
  readonly limit: 'concurrency' | 'openStreams';
  /** Of calls that run at once, and of those that wait for one to end. */
  readonly slots: (limits: ProjectLimits) => Slots;
  /** Does it begin in a fair turn of the main thread? */
  readonly takesTurn: boolean;
  /** Longest wait for a slot, ms. */
  readonly waitMsMax: number;
  readonly retryAfterSeconds: number;
}

export interface Slots {
  readonly running: number;
  /** Calls of one caller within `running`. */
  readonly ofCaller: number;
  /** What waits: calls or bytes, as `unit` says. */
  readonly waiting: number;
  /** What waits of one caller within `waiting`. */
  readonly waitingOfCaller: number;
  readonly unit: 'calls' | 'bytes';
}

/** Calls that wait for each one that may run. */
const WAITING_FOR_EACH = 8;
/** Longest wait of a call that changes something or answers at once, ms. */
const WAIT_MS_MAX = 5_000;
/** Longest wait of a read that a thread answers, ms: as long as it may take afterwards. */
const READ_WAIT_MS_MAX = 10_000;
/**
 * Waiting requests for each read that may run, bytes: with the default of 8, at least 512 requests
 * of a project, and 256 of one key. A dashboard sends one for each panel, all at once.
 */
const WAITING_BYTES_FOR_EACH = 1024 * 1024;

/** One caller has half: what it holds must not keep the others of its project out. */
function shared(running: number, waiting: number, unit: Slots['unit'] = 'calls'): Slots {
  const ofCaller = Math.ceil(running / 2);
  return { running, ofCaller, waiting, waitingOfCaller: Math.ceil(waiting / 2), unit };
}

const waitingCalls: ClassRules = {
  limit: 'concurrency',
  slots: ({ concurrency }) => shared(concurrency, WAITING_FOR_EACH * concurrency),
  takesTurn: true,
  waitMsMax: WAIT_MS_MAX,
  retryAfterSeconds: 2,
};

/** Many at once are usual, and each is small: bounded by the memory that they wait in. */
const waitingReads: ClassRules = {
  ...waitingCalls,
  slots: ({ concurrency }) => shared(concurrency, WAITING_BYTES_FOR_EACH * concurrency, 'bytes'),
  waitMsMax: READ_WAIT_MS_MAX,
};

export const classRules: Readonly<Record<CallClass, ClassRules>> = {
  call: waitingCalls,
  change: waitingCalls,
  query: waitingReads,
  list: waitingReads,
  export: waitingReads,
  // Each parses up to 1 MiB; the binary handler, which is cheap, has no part in it.
  write: waitingCalls,
  position: {
    ...waitingCalls,
    // They wait already, 5 s at most: another wait before it would only be longer.
    slots: ({ concurrency }) => shared(8 * concurrency, 0),
    takesTurn: false,
  },
  stream: {
    limit: 'openStreams',
    slots: ({ openStreams }) => shared(openStreams, 0),
    takesTurn: true,
    waitMsMax: 0,
    // Streams last: who comes back at once finds it no different.
    retryAfterSeconds: 10,
  },
};

const CLASS_OF_METHOD: Readonly<Record<string, CallClass>> = {
  QueryVMMonitoring: 'query',
  PreviewAlertRule: 'query',
  ReplayAlertRule: 'query',
  ExplainIncident: 'query',
  ExplainAlertInstance: 'query',
  ListVMMonitoring: 'list',
  WriteSamples: 'write',
};

/** The class of an RPC; what is not named is a `call`, so that a new method is bounded too. */
export function classOfMethod(method: DescMethod): CallClass {
  if (method.methodKind !== 'unary') return 'stream';
  const { access, mutation } = getOption(method, policy);
  if (mutation && access === Policy_Access.HUMAN) return 'change';
  return CLASS_OF_METHOD[method.name] ?? 'call';
}
