/**
 * Classes of calls. Calls of one class share the slots of a project, so that a project's slow
 * queries do not delay its own lists and acknowledgements.
 */
import type { DescMethod } from '@bufbuild/protobuf';
import type { ProjectLimits } from '../../../actors/platform/project-limits.ts';
import { Policy_Access } from '../../gen/svc/options/v1/policy_pb.ts';
import { policyOf } from '../access/policy.ts';

export const CALL_CLASSES = [
  /** Everything that answers from the projection or changes it: get, list, audit, mutations. */
  'call',
  /** Changes by people: revoking a key must not wait behind the calls of that key. */
  'change',
  /** Work of the query threads: PromQL, queries, previews, replays, explanations. */
  'query',
  /** Lists of VMs, which have a thread of their own. */
  'list',
  /** Export shards, which also have a thread of their own. */
  'export',
  /** Samples through the RPC framework; the binary handler before it never waits. */
  'write',
  /** Requests that wait until this node has applied a position in the log. */
  'position',
  /** Responses that stay open. */
  'stream',
] as const;

export type CallClass = (typeof CALL_CLASSES)[number];

export interface ClassRules {
  /** Limit of the project that bounds the class. */
  readonly limit: 'concurrency' | 'openStreams';
  /** Slots for calls that run at once, and for those that wait for one to end. */
  readonly slots: (limits: ProjectLimits) => Slots;
  /** true: a call starts in a fair turn of the main thread. */
  readonly takesTurn: boolean;
  /** Longest wait for a slot, ms. */
  readonly waitMsMax: number;
  readonly retryAfterSeconds: number;
}

export interface Slots {
  readonly running: number;
  /** Share of `running` for one caller, calls. */
  readonly ofCaller: number;
  /** Calls or bytes that may wait, in `unit`. */
  readonly waiting: number;
  /** Share of `waiting` for one caller. */
  readonly waitingOfCaller: number;
  readonly unit: 'calls' | 'bytes';
}

/** Calls that may wait, per call that may run. */
const WAITING_FOR_EACH = 8;
/** Longest wait of a call that changes something or answers at once, ms. */
const WAIT_MS_MAX = 5_000;
/** Longest wait of a read that a thread answers, ms; equal to the time it may take afterwards. */
const READ_WAIT_MS_MAX = 10_000;
/**
 * Memory of waiting requests per read that may run, bytes. With the default of 8, at least 512
 * requests of a project may wait, and 256 of one key. A dashboard sends one per panel, all at once.
 */
const WAITING_BYTES_FOR_EACH = 1024 * 1024;

/** One caller gets half, so that it cannot lock out the others of its project. */
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

/** Many at once are normal and each is small, so they are bounded by the memory they wait in. */
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
  // Each parses up to 1 MiB. The binary handler is cheap and not part of this.
  write: waitingCalls,
  position: {
    ...waitingCalls,
    // They already wait up to 5 s; another wait before it would only add to that.
    slots: ({ concurrency }) => shared(8 * concurrency, 0),
    takesTurn: false,
  },
  stream: {
    limit: 'openStreams',
    slots: ({ openStreams }) => shared(openStreams, 0),
    takesTurn: true,
    waitMsMax: 0,
    // Streams last long, so an immediate retry would find nothing changed.
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

/** Class of an RPC. A method that is not listed is a `call`, so that a new one is bounded too. */
export function classOfMethod(method: DescMethod): CallClass {
  if (method.methodKind !== 'unary') return 'stream';
  const { access, mutation } = policyOf(method);
  if (mutation && access === Policy_Access.HUMAN) return 'change';
  return CLASS_OF_METHOD[method.name] ?? 'call';
}
