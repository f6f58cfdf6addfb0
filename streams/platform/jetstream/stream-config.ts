/**
 * A stream's specification as a JetStream configuration and back. What a server returns is always
 * compared with what was asked for, because older servers ignore options they do not know, and
 * because somebody may have made or changed the stream by hand.
 */
import {
  DiscardPolicy,
  PersistMode,
  RetentionPolicy,
  StorageType,
  type StreamConfig,
  type StreamInfo,
} from '@nats-io/jetstream';
import { StreamMisconfigured, type StreamSpec, type StreamState } from '../stream.ts';
import { streamLosses } from '../stream-loss.ts';

/** Key of the stream's metadata that holds its identity. */
const IDENTITY_KEY = 'vm-monitoring-identity';
const NANOS_PER_MS = 1_000_000;

export function configOf(spec: StreamSpec, identity: string) {
  return {
    name: spec.name,
    subjects: [...spec.subjects],
    retention: spec.retention === 'log' ? RetentionPolicy.Limits : RetentionPolicy.Workqueue,
    storage: StorageType.File,
    num_replicas: spec.replicas,
    max_age: (spec.maxAgeMs ?? 0) * NANOS_PER_MS,
    duplicate_window: spec.duplicateWindowMs * NANOS_PER_MS,
    max_msgs: -1,
    max_bytes: -1,
    max_msgs_per_subject: -1,
    // Should someone set a limit: a full stream refuses, it never drops what was acknowledged.
    discard: DiscardPolicy.New,
    // A direct get may be answered by a copy that is behind.
    allow_direct: false,
    metadata: { [IDENTITY_KEY]: identity },
  };
}

/**
 * Identity of a stream, written when it was made.
 * Throws `StreamMisconfigured` when there is none: it was not made by this program.
 */
function identityOf(info: StreamInfo): string {
  const identity = info.config.metadata?.[IDENTITY_KEY];
  if (identity !== undefined && identity !== '') return identity;
  throw new StreamMisconfigured(
    `Stream ${info.config.name} has no ${IDENTITY_KEY} in its metadata, so it was not made by ` +
      'this program: remove it or use another account',
  );
}

/** State as the port knows it; an empty JetStream stream names its first sequence in two ways. */
export function stateOf(info: StreamInfo): StreamState {
  const { messages, first_seq: first, last_seq: last } = info.state;
  return {
    identity: identityOf(info),
    firstSequence: messages === 0 ? last + 1 : first,
    lastSequence: last,
    messages,
  };
}

/** Throws `StreamMisconfigured` when using the stream would lose something that `spec` keeps. */
export function assertKeeps(config: StreamConfig, spec: StreamSpec): void {
  const losses = [...streamLosses(specOf(config), spec), ...limitsOf(config)];
  if (config.storage !== StorageType.File) losses.push('storage is memory, needed is file');
  if (config.num_replicas < spec.replicas) {
    losses.push(`replicas are ${config.num_replicas}, needed are ${spec.replicas}`);
  }
  if (losses.length === 0) return;
  throw new StreamMisconfigured(`Stream ${spec.name} on the server differs: ${losses.join('; ')}`);
}

function specOf(config: StreamConfig): StreamSpec {
  const retention = config.retention === RetentionPolicy.Workqueue ? 'workQueue' : 'log';
  return {
    name: config.name,
    subjects: config.subjects ?? [],
    retention,
    ...(config.max_age > 0 ? { maxAgeMs: config.max_age / NANOS_PER_MS } : {}),
    duplicateWindowMs: config.duplicate_window / NANOS_PER_MS,
    replicas: config.num_replicas === 3 ? 3 : 1,
  };
}

function limitsOf(config: StreamConfig): string[] {
  const losses: string[] = [];
  const known: string[] = [RetentionPolicy.Limits, RetentionPolicy.Workqueue];
  if (!known.includes(config.retention)) losses.push(`retention is ${config.retention}`);
  const limits = {
    max_msgs: config.max_msgs,
    max_bytes: config.max_bytes,
    max_msgs_per_subject: config.max_msgs_per_subject,
    max_msg_size: config.max_msg_size,
  };
  for (const [name, limit] of Object.entries(limits)) {
    if (limit > 0) losses.push(`${name} is ${limit}, needed is no limit`);
  }
  const switches = {
    sealed: config.sealed,
    no_ack: config.no_ack,
    deny_purge: config.deny_purge,
    mirror: config.mirror,
    subject_transform: config.subject_transform,
    persist_mode: config.persist_mode === PersistMode.Async ? true : undefined,
  };
  for (const [name, on] of Object.entries(switches)) {
    if (on) losses.push(`${name} is set, needed is its default`);
  }
  return losses;
}
