/**
 * The named parts that rooms are opened with: the foundations, the open storage, and the counter of
 * lost work. A room names the parts that it takes; it gets no bag of single things.
 */
import type { InstanceStore } from '../../sqlite/platform/control/instance-store.ts';
import type {
  KeyChangeOutcome,
  KeyChangeRequest,
  SecretStore,
} from '../../sqlite/platform/secrets/secret-store.ts';
import type { History } from '../../sqlite/telemetry/history/store/store.ts';
import type { Clock } from '../../streams/platform/clock.ts';
import type { StreamCopies } from '../../streams/platform/jetstream/stream-copies.ts';
import type { Membership, Ownership } from '../../streams/platform/membership/membership.ts';
import type { OnceStore } from '../../streams/platform/once-store.ts';
import type { Random } from '../../streams/platform/random.ts';
import type { Stream } from '../../streams/platform/stream.ts';
import type { Closers } from './closers.ts';
import type { Health } from './health.ts';
import type { Log } from './log.ts';
import type { Metrics } from './metrics.ts';
import type { Settings } from './settings/settings.ts';

export interface RoomBase {
  readonly settings: Settings;
  readonly log: Log;
  readonly clock: Clock;
  readonly random: Random;
  readonly metrics: Metrics;
  readonly health: Health;
  /** Closes what a room opens, in reverse order. */
  readonly closers: Closers;
}

/** Everything on disk or on servers, open, and this process's membership among those that share it. */
export interface Storage {
  readonly stream: Stream;
  /** Copies of the streams on NATS; absent: embedded, or a stream of the caller. */
  readonly copies?: StreamCopies;
  /** This process's membership among those that share the stream. */
  readonly member: Membership;
  /** Ownership of projects, for parts that need nothing else of the membership. */
  readonly ownership: Ownership;
  readonly store: InstanceStore;
  readonly secrets: SecretStore;
  /** A key of 32 bytes for one purpose, from the master key; see `DerivedKeys`. */
  readonly deriveKey: (purpose: string) => Uint8Array;
  /** Id of the master key. */
  readonly keyId: () => string;
  /** Changes the master key while the service runs. Rejects with `KeyChangeRefused`. */
  readonly changeMasterKey: (request: KeyChangeRequest) => Promise<KeyChangeOutcome>;
  readonly history: History;
  readonly onceStore: OnceStore;
  /** The projection's file, for threads that read it themselves. */
  readonly controlPath: string;
}

/** Counts work that a part lost because the stream did not answer. */
export type LostWork = (part: string) => () => void;

export function countLostWork(metrics: Metrics): LostWork {
  const lost = metrics.counter(
    'svc_part_lost_work_total',
    'Work lost by a part because the stream did not answer',
    ['part'],
  );
  return (part) => () => lost.inc({ part });
}
