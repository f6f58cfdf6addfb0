/**
 * Bugs planted on purpose, by name. Each removes one guarantee by wrapping an actor's port, so
 * production code needs no hook for it. A simulation that does not find them would not find similar
 * bugs.
 */

import type { CheckpointStore } from '../../actors/alerting/evaluator/checkpoints.ts';
import type { RunningHost } from '../../actors/platform/host/host.ts';
import type { Draft, Instance, ProjectView } from '../../actors/platform/host/host-port.ts';
import type { Ingest } from '../../actors/telemetry/ingest/ingest-port.ts';
import type { IngestRow } from '../../actors/vms/sent-row.ts';
import type { VmSourcesDeps } from '../../actors/vms/vm-sources.ts';
import type { MachineName } from '../../machines/audit/registry.ts';
import type { InstanceStore } from '../../sqlite/platform/control/instance-store.ts';
import type { BodyStore } from '../../sqlite/platform/secrets/secret-store.ts';
import type { Clock } from '../../streams/platform/clock.ts';
import { decodeCommit } from '../../streams/platform/commit/codec.ts';
import type { StoredInstance } from '../../streams/platform/commit/projection.ts';
import type { Membership, Ownership } from '../../streams/platform/membership/membership.ts';
import type { Share } from '../../streams/platform/membership/roster.ts';
import type { Stream } from '../../streams/platform/stream.ts';
import { decodeEntry, encodeEntry } from '../../streams/telemetry/entry-codec.ts';
import { type FaultRates, NO_FAULTS } from './faults.ts';
import type { LogServer } from './log-server.ts';
import type { Machine } from './machine.ts';
import type { Invariant } from './oracle/problem.ts';
import type { Program } from './programs.ts';

/** Parts of the service that a bug can be planted in. */
export type PlantedPart = 'evaluator' | 'deliverer' | 'people';

export interface Planted {
  /** The bug in one sentence. */
  readonly sentence: string;
  /** Invariants that it breaks, as the oracles name them; the bug is found if one of them is. */
  readonly breaks: readonly Invariant[];
  /** Number of members in the runs that must find it. Default: one. */
  readonly members?: number;
  /** Duration of the faults. Default: drawn from the seed. */
  readonly minutes?: number;
  /** Faults that replace those of the seed, where the bug needs them. */
  readonly faults?: Partial<FaultRates>;
  /** The host as that part sees it. */
  readonly host?: Hosts;
  /** The stream as ingest sees it. */
  readonly stream?: (stream: Stream) => Stream;
  readonly ingest?: (ingest: Ingest) => Ingest;
  /** A member's knowledge of a VM's current source. */
  readonly newest?: (newest: Newest) => Newest;
  /** True if some VMs are on two hosts. Default: drawn from the seed. */
  readonly pairs?: true;
  /** Ownership, as every part of a member sees it. */
  readonly ownership?: (ownership: Ownership) => Ownership;
  readonly membership?: (membership: Membership) => Membership;
  /** True if members are upgraded. Default: drawn from the seed. */
  readonly upgrades?: boolean;
  /** Shares that a member claims to be too old for. */
  readonly unfit?: () => readonly Share[];
  /** The projection, as the host of a process sees it. */
  readonly store?: (store: InstanceStore, program: Program) => InstanceStore;
  /** The clock by which a member judges its own. */
  readonly memberClock?: (clock: Clock, skew: { readonly ms: number }) => Clock;
  /** A machine that has received a snapshot, before its process reads on. */
  readonly joined?: (machine: Machine, server: LogServer) => void;
  readonly bodies?: (bodies: BodyStore) => BodyStore;
  /** The folder of checkpoints, as a process sees it. */
  readonly checkpoints?: (store: CheckpointStore) => CheckpointStore;
  /** The stream as the evaluator reads it. */
  readonly samples?: (stream: Stream) => Stream;
}

type Newest = VmSourcesDeps['newest'] & {};

/** The host as a part sees it. */
type Hosts = (part: PlantedPart, host: RunningHost) => RunningHost;

/** The host with other drafts and other views. */
function changed(
  host: RunningHost,
  { draft = () => () => ({}), view = () => ({}) }: Changes,
): RunningHost {
  return {
    ...host,
    view: (project) => ({ ...host.view(project), ...view(host.view(project)) }),
    submit: (submission) => {
      const methods = draft(host.view(submission.project));
      return host.submit({
        ...submission,
        decide: (real) => submission.decide(overlaid(real, methods(real))),
      });
    },
  };
}

interface Changes {
  /** Called at each submission; the answer at each decision, with the real draft. */
  readonly draft?: (view: ProjectView) => (real: Draft) => Partial<Draft>;
  readonly view?: (real: ProjectView) => Partial<ProjectView>;
}

/** The object with the given methods replaced. */
function overlaid<T extends object>(object: T, methods: Partial<T>): T {
  return new Proxy(object, {
    get(target, name) {
      const from = name in methods ? methods : target;
      const value = Reflect.get(from, name);
      return typeof value === 'function' ? value.bind(from) : value;
    },
  });
}

/** Changes only what one part sees. */
function inFrontOf(part: PlantedPart, changes: () => Changes): Hosts {
  return (asking, host) => (asking === part ? changed(host, changes()) : host);
}

/** The recheck before an attempt finds no objection. */
const recheckSkipped: Planted = {
  sentence: 'An attempt is opened without a check of its incident and its destination.',
  breaks: ['no attempt after the end'],
  host: inFrontOf('deliverer', () => {
    const blind = (real: ProjectView): Pick<ProjectView, 'instance'> => ({
      instance<M extends MachineName>(machine: M, id: string) {
        const found = real.instance(machine, id);
        // Spreading any machine's row loses its type.
        return found && (blinded(found as Instance) as Instance<M>);
      },
    });
    return { view: blind, draft: () => blind };
  }),
};

function blinded(found: Instance): Instance {
  if (found.machine === 'destination') return { ...found, value: 'active', final: false };
  if (found.machine !== 'alertInstance') return found;
  const { incident } = found.context;
  const open = { recoveredMs: null, retiredMs: null, snoozedUntilMs: null };
  return {
    ...found,
    context: { ...found.context, incident: incident && { ...incident, ...open } },
  };
}

/** Silence counts as recovery. */
const recoveryOnAbsence: Planted = {
  sentence: 'An incident without data recovers.',
  breaks: ['no recovery unobserved'],
  host: inFrontOf('evaluator', () => ({
    draft: () => (real) => ({
      send: (machine, id, event) =>
        real.send(
          machine,
          id,
          event.type === 'dataMissing' ? { ...event, type: 'recovered', value: 0 } : event,
        ),
    }),
  })),
};

/** Attempts of a dead process are never resumed. */
const lostAttempts: Planted = {
  sentence: 'Attempts without a recorded outcome are forgotten, not retried.',
  breaks: ['it comes to rest'],
  host: inFrontOf('deliverer', () => ({
    view: (real) => ({
      instances(machine, options) {
        const page = real.instances(machine, options);
        return { ...page, items: page.items.filter(({ value }) => value !== 'sending') };
      },
    }),
  })),
};

/**
 * The cap of open attempts is per process: attempts that another process left open are not counted.
 */
const capPerMember: Planted = {
  sentence: 'A process counts only the open attempts that it opened itself.',
  breaks: ['caps and order hold'],
  members: 2,
  minutes: 20,
  // Attempts stay open if an endpoint hangs and their member is down.
  faults: {
    ...NO_FAULTS,
    endpointEveryMs: 60_000,
    killEveryMs: 30_000,
    outageEveryMs: 30_000,
    outageMsMax: 30_000,
  },
  host: inFrontOf('deliverer', () => {
    const mine = new Set<string>();
    const isOpen = (view: ProjectView, id: string, destination: string): boolean => {
      const row = view.instance('delivery', id);
      return row?.value === 'sending' && row.context.destination === destination;
    };
    const counting = (real: ProjectView): Pick<ProjectView, 'countInstances'> => ({
      countInstances: (machine, of) =>
        'destination' in of
          ? [...mine].filter((id) => isOpen(real, id, of.destination)).length
          : real.countInstances(machine, of),
    });
    return {
      view: counting,
      draft: () => (real) => ({
        ...counting(real),
        send(machine, id, event) {
          if (event.type === 'cleared') mine.add(id);
          return real.send(machine, id, event);
        },
      }),
    };
  }),
};

/** A repeated batch counts as new readings. */
const batchCountedTwice: Planted = {
  sentence: 'A batch repeated after an unknown outcome is stored as readings of a moment later.',
  breaks: ['nothing is made up'],
  ingest(ingest) {
    const seen = new Set<string>();
    const later = (row: IngestRow): IngestRow => ({ ...row, observedMs: row.observedMs + 1 });
    return {
      write(request) {
        const key = `${request.project} ${request.batchId}`;
        const isAgain = seen.has(key);
        seen.add(key);
        if (!isAgain) return ingest.write(request);
        return ingest.write({ ...request, batchId: `${key} again`, rows: request.rows.map(later) });
      },
    };
  },
};

/** Decisions from before a restart are repeated after it. */
const decidedTwice: Planted = {
  sentence: 'A restarted evaluator ignores the decisions of its rows.',
  breaks: ['a restart changes nothing'],
  host: inFrontOf('evaluator', () => ({
    view: () => ({
      instances: () => ({ items: [] }),
    }),
    draft: () => (real) => ({
      instance(machine, id) {
        const found = real.instance(machine, id);
        if (machine !== 'alertInstance' || !found) return found;
        return { ...found, context: { ...found.context, decidedThrough: 0 } };
      },
      send: (machine, id, event) =>
        real.send(machine, id, 'eventMs' in event ? { ...event, eventMs: real.at } : event),
    }),
  })),
};

/** A limit is checked before the decision, not in it. */
const limitOutside: Planted = {
  sentence: 'The count is taken when a request arrives, not when it is decided.',
  breaks: ['limits hold'],
  host: inFrontOf('people', () => ({
    draft: (before) => {
      const counts = new Map<string, number>();
      for (const machine of ['alertRule', 'destination'] as const) {
        counts.set(machine, before.countInstances(machine, { final: false }));
      }
      return (real) => ({
        countInstances: (machine, options) =>
          counts.get(machine) ?? real.countInstances(machine, options),
      });
    },
  })),
};

/** Samples are acknowledged before they are stored. */
const acknowledgedEarly: Planted = {
  sentence: 'Samples are acknowledged when they are sent to the stream, not when they are stored.',
  breaks: ['nothing acknowledged is lost'],
  stream: (stream) => {
    const append: Stream['append'] = async (request) => {
      stream.append(request).catch(() => {});
      return { kind: 'appended', sequence: 0 };
    };
    return new Proxy(stream, {
      get(target, name) {
        if (name === 'append') return append;
        const value = Reflect.get(target, name);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  },
};

/** A retried delivery is rendered from the current state. */
const renderedAnew: Planted = {
  sentence: 'A body is rendered for each attempt, regardless of earlier ones.',
  breaks: ['one body for each delivery'],
  bodies: (bodies) => ({ ...bodies, get: () => undefined }),
  host: inFrontOf('deliverer', () => {
    const forgetful = (real: ProjectView): Pick<ProjectView, 'instance'> => ({
      instance<M extends MachineName>(machine: M, id: string) {
        const found = real.instance(machine, id) as Instance | undefined;
        if (found?.machine !== 'delivery') return found as Instance<M> | undefined;
        const context = { ...found.context, bodyDigest: null };
        // Spreading any machine's row loses its type.
        return { ...found, context } as unknown as Instance<M>;
      },
    });
    return { view: forgetful };
  }),
};

/** Ownership is not checked, as before members had leases. */
const allAct: Planted = {
  sentence: 'Every member acts for every project.',
  breaks: [
    'one member acts at a time',
    'no data center is stale while rows flow',
    'silence is noticed in time',
  ],
  members: 3,
  ownership: (ownership) =>
    overlaid(ownership, {
      owns: () => true,
      // A single epoch: whose entries count cannot be known.
      epochOf: () => 2 ** 32,
    }),
};

/** The snapshot is taken for the present. */
const tailSkipped: Planted = {
  sentence:
    'A member that joins by a snapshot continues at the end of EVENTS, not behind the snapshot.',
  breaks: ['a restart changes nothing', 'no fault of its own'],
  members: 3,
  faults: { ...NO_FAULTS, diskLostEveryMs: 150_000 },
  joined({ database }, server) {
    const last = server.messages('EVENTS').at(-1);
    if (!last) return;
    const { hash } = decodeCommit(last.data);
    database
      .prepare('UPDATE position SET applied = ?, applied_hash = ?, checksum = NULL')
      .run(last.sequence, hash);
  },
};

/** A tick counts whoever wrote it. */
const staleCounted: Planted = {
  sentence: 'A tick counts although its writer had lost its lease.',
  breaks: ['silence is noticed in time'],
  members: 3,
  faults: { ...NO_FAULTS, killEveryMs: 200_000, staleTickEveryMs: 1_000 },
  samples: (stream) =>
    overlaid(stream, {
      read: (options) => {
        const read = stream.read(options);
        return {
          close: () => read.close(),
          async *[Symbol.asyncIterator]() {
            for await (const message of read)
              yield { ...message, data: withoutEpoch(message.data) };
          },
        };
      },
    }),
};

function withoutEpoch(data: Uint8Array): Uint8Array {
  const entry = decodeEntry(data);
  if (entry.kind === 'batch') return data;
  const { epoch: _, ...rest } = entry;
  return encodeEntry(rest);
}

/** A revocation is answered as soon as it is committed. */
const barrierSkipped: Planted = {
  sentence: 'A revocation is acknowledged before every live member has applied it.',
  breaks: ['a revoked key is refused everywhere'],
  members: 3,
  membership: (membership) => overlaid(membership, { untilApplied: async () => {} }),
};

/** The log of samples is truncated by the member's own floor alone. */
const ownFloor: Planted = {
  sentence:
    "The log of samples is truncated below the member's own floor, even if other members still need it.",
  breaks: ['nothing acknowledged is lost'],
  members: 3,
  minutes: 40,
  faults: { ...NO_FAULTS, diskFullEveryMs: 600_000, diskFullMsMax: 2_400_000 },
  membership: (membership) => overlaid(membership, { floorsOf: () => [] }),
};

/** A member trusts its own clock. */
const clockUnchecked: Planted = {
  sentence: 'A member does not compare its clock with that of the streams.',
  breaks: ['no decision by a wrong clock'],
  members: 3,
  faults: {
    ...NO_FAULTS,
    clockJumpEveryMs: 60_000,
    clockJumpMsMax: 60_000,
    clockJumpLastsMsMax: 60_000,
  },
  memberClock: (clock, skew) => overlaid(clock, { now: () => clock.now() - skew.ms }),
};

/** A member takes a lease without checking the versions of rows. */
const unfitActs: Planted = {
  sentence: 'A member does not report projects with rows of a newer program, and acts for them.',
  breaks: ['no program touches what a newer one wrote'],
  members: 3,
  upgrades: true,
  faults: NO_FAULTS,
  unfit: () => [],
};

/** An older program treats rows of a newer one as its own. */
const newerMoved: Planted = {
  sentence: 'An older program moves rows of a newer one and writes them in its own version.',
  breaks: ['no program touches what a newer one wrote'],
  members: 3,
  upgrades: true,
  faults: NO_FAULTS,
  store(store, { machines }) {
    const lowered = (row: StoredInstance | undefined): StoredInstance | undefined => {
      if (!row) return undefined;
      const known = machines.get(row.machine)?.version ?? row.version;
      return { ...row, version: Math.min(row.version, known) };
    };
    return {
      ...store,
      view: (project) => {
        const view = store.view(project);
        return overlaid(view, { instance: (machine, id) => lowered(view.instance(machine, id)) });
      },
    };
  },
};

/** Rows of a VM are accepted from any sender. */
const anySource: Planted = {
  sentence: 'Ingest does not check which collector sent a row.',
  breaks: ['one source reports a VM'],
  pairs: true,
  faults: NO_FAULTS,
  ingest: (ingest) => ({
    write: ({ reach, ...request }) =>
      ingest.write({ ...request, ...(reach && { reach: { ...reach, name: 'collectors/any' } }) }),
  }),
};

/** A member knows only the rows that it received itself. */
const othersUnheard: Planted = {
  sentence: 'A source that another member hears counts as silent.',
  breaks: ['one source reports a VM'],
  pairs: true,
  members: 3,
  faults: NO_FAULTS,
  newest: () => () => undefined,
};

/** Entries after a checkpoint are taken for a part of it. */
const checkpointAhead: Planted = {
  sentence: 'The index of checkpoints says that no partition is behind.',
  breaks: [
    'one incident for each breach',
    'nothing acknowledged is lost',
    'silence is noticed in time',
  ],
  checkpoints: (store) =>
    overlaid(store, {
      saveIndex: (index, named) => {
        const partitions = index.partitions.map((one) => ({ ...one, isBehind: false }));
        return store.saveIndex({ ...index, partitions }, named);
      },
    }),
};

export const PLANTED: Readonly<Record<string, Planted>> = {
  'recheck-skipped': recheckSkipped,
  'recovery-on-absence': recoveryOnAbsence,
  'lost-attempts': lostAttempts,
  'cap-per-member': capPerMember,
  'batch-counted-twice': batchCountedTwice,
  'decided-twice': decidedTwice,
  'limit-outside': limitOutside,
  'acknowledged-early': acknowledgedEarly,
  'body-rendered-anew': renderedAnew,
  'two-owners-act': allAct,
  'snapshot-without-tail': tailSkipped,
  'stale-tick-counted': staleCounted,
  'barrier-skipped': barrierSkipped,
  'truncated-by-own-floor': ownFloor,
  'clock-unchecked': clockUnchecked,
  'unfit-member-acts': unfitActs,
  'newer-row-moved': newerMoved,
  'any-source': anySource,
  'others-unheard': othersUnheard,
  'checkpoint-ahead': checkpointAhead,
};
