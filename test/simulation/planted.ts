/**
 * Bugs planted on purpose, by name: each takes one of the guarantees away by standing in front of
 * an actor's port, so that production code needs no hook for it. A simulation that does not find
 * them would not find their like.
 */

import type { RunningHost } from '../../actors/platform/host/host.ts';
import type { Draft, Instance, ProjectView } from '../../actors/platform/host/host-port.ts';
import type { Ingest } from '../../actors/telemetry/ingest/ingest-port.ts';
import type { IngestRow } from '../../actors/vms/sent-row.ts';
import type { MachineName } from '../../machines/audit/registry.ts';
import type { Stream } from '../../streams/platform/stream.ts';

/** Parts of the service that a bug can be planted in. */
export type PlantedPart = 'evaluator' | 'deliverer' | 'people';

export interface Planted {
  /** What is broken, in a sentence. */
  readonly sentence: string;
  /** The host as that part sees it. */
  readonly host?: Hosts;
  /** The stream as ingest sees it. */
  readonly stream?: (stream: Stream) => Stream;
  readonly ingest?: (ingest: Ingest) => Ingest;
}

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
  /** Asked at each submission; the answer at each decision, with the real draft. */
  readonly draft?: (view: ProjectView) => (real: Draft) => Partial<Draft>;
  readonly view?: (real: ProjectView) => Partial<ProjectView>;
}

/** The draft, but for the methods given. */
function overlaid(draft: Draft, methods: Partial<Draft>): Draft {
  return new Proxy(draft, {
    get(target, name) {
      const from = name in methods ? methods : target;
      const value = Reflect.get(from, name);
      return typeof value === 'function' ? value.bind(from) : value;
    },
  });
}

/** In front of one part alone. */
function inFrontOf(part: PlantedPart, changes: () => Changes): Hosts {
  return (asking, host) => (asking === part ? changed(host, changes()) : host);
}

/** The recheck before an attempt finds nothing against it. */
const recheckSkipped: Planted = {
  sentence: 'An attempt is opened whatever became of its incident and of its destination.',
  host: inFrontOf('deliverer', () => {
    const blind = (real: ProjectView): Pick<ProjectView, 'instance'> => ({
      instance<M extends MachineName>(machine: M, id: string) {
        const found = real.instance(machine, id);
        // The type of a spread of any machine's row is lost.
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

/** Silence is taken for a recovery. */
const recoveryOnAbsence: Planted = {
  sentence: 'An incident without data recovers.',
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

/** An attempt that a dead process left behind is never taken up. */
const lostAttempts: Planted = {
  sentence: 'Attempts whose outcome was not recorded are forgotten, not tried again.',
  host: inFrontOf('deliverer', () => ({
    view: (real) => ({
      instances(machine, options) {
        const page = real.instances(machine, options);
        return { ...page, items: page.items.filter(({ value }) => value !== 'sending') };
      },
    }),
  })),
};

/** A batch that is sent again is taken for new readings. */
const batchCountedTwice: Planted = {
  sentence: 'A batch sent again after an unknown outcome is stored as readings of a moment later.',
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

/** What was decided before a restart is decided again after it. */
const decidedTwice: Planted = {
  sentence: 'A restarted evaluator does not look at what its rows have decided.',
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

/** A limit is looked at before the decision, not in it. */
const limitOutside: Planted = {
  sentence: 'How many there are is counted when a request comes in, not when it is decided.',
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

export const PLANTED: Readonly<Record<string, Planted>> = {
  'recheck-skipped': recheckSkipped,
  'recovery-on-absence': recoveryOnAbsence,
  'lost-attempts': lostAttempts,
  'batch-counted-twice': batchCountedTwice,
  'decided-twice': decidedTwice,
  'limit-outside': limitOutside,
  'acknowledged-early': acknowledgedEarly,
};
