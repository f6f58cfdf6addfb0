/**
 * Classes of calls: what waits behind what. Calls of one class share the places of a project, so that
 * a project's slow queries do not keep its own lists and acknowledgements waiting.
 */
import type { DescMethod } from '@bufbuild/protobuf';
import type { ProjectLimits } from '../../actors/alerting/limits.ts';

export const CALL_CLASSES = [
  /** Everything that answers from the projection or changes it: get, list, audit, mutations. */
  'call',
  /** Work of the query threads: PromQL, queries, previews, explanations. */
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
  readonly places: (limits: ProjectLimits) => Places;
  /** Does it begin in a fair turn of the main thread? */
  readonly takesTurn: boolean;
  readonly retryAfterSeconds: number;
}

export interface Places {
  readonly running: number;
  readonly waiting: number;
  /** Of one caller within `running`; absent: all of them. */
  readonly ofCaller?: number;
}

/** Calls that wait for each one that may run. */
const WAITING_FOR_EACH = 8;

const waitingCalls: ClassRules = {
  limit: 'concurrency',
  places: ({ concurrency }) => ({
    ...{ running: concurrency, waiting: WAITING_FOR_EACH * concurrency },
  }),
  takesTurn: true,
  retryAfterSeconds: 2,
};

export const classRules: Readonly<Record<CallClass, ClassRules>> = {
  call: waitingCalls,
  query: waitingCalls,
  list: waitingCalls,
  export: waitingCalls,
  write: {
    ...waitingCalls,
    // A write is done when the disk says so: 128 at once share one sync of it.
    places: ({ concurrency }) => ({ running: 16 * concurrency, waiting: 16 * concurrency }),
  },
  position: {
    ...waitingCalls,
    // They wait already, 5 s at most: another wait before it would only be longer.
    places: ({ concurrency }) => ({ running: 8 * concurrency, waiting: 0 }),
    takesTurn: false,
  },
  stream: {
    limit: 'openStreams',
    places: ({ openStreams }) => ({
      ...{ running: openStreams, waiting: 0, ofCaller: Math.ceil(openStreams / 2) },
    }),
    takesTurn: true,
    // Streams last: who comes back at once finds it no different.
    retryAfterSeconds: 10,
  },
};

const CLASS_OF_METHOD: Readonly<Record<string, CallClass>> = {
  QueryVMMonitoring: 'query',
  PreviewAlertRule: 'query',
  ExplainIncident: 'query',
  ListVMMonitoring: 'list',
  WriteSamples: 'write',
};

/** The class of an RPC; what is not named is a `call`, so that a new method is bounded too. */
export function classOfMethod({ name, methodKind }: DescMethod): CallClass {
  return methodKind === 'unary' ? (CLASS_OF_METHOD[name] ?? 'call') : 'stream';
}
