/**
 * Fields that a codec of checkpoints could forget, as planted bugs: each sets one field of a restored
 * state back to its initial value.
 */
import type { Instance, SeriesBuffer } from '../../streams/alerting/evaluation/instance.ts';
import type { EvaluationState, VmFacts } from '../../streams/alerting/evaluation/state.ts';
import {
  copyTimeline,
  emptyTimeline,
  RunWindow,
} from '../../streams/alerting/evaluation/timeline.ts';

/** Forgets a field of a restored state. */
export type Omission = (state: EvaluationState) => void;

const NEVER = Number.NEGATIVE_INFINITY;

export const OMISSIONS: Readonly<Record<string, Omission>> = {
  'values of windows': eachInstance((instance) => {
    if (instance.window) instance.window = new RunWindow();
  }),
  'settled rows': eachBuffer((buffer) => {
    buffer.settledRows = 0;
  }),
  'values whose rows are forgotten': eachBuffer(({ values, rows }) => {
    if (rows.length > 0) values[0] = Number.NaN;
  }),
  'readings of rows': eachBuffer((buffer) => {
    const last = buffer.rows.at(-1);
    if (last) buffer.rows[buffer.rows.length - 1] = { ...last, row: { ...last.row, values: [] } };
  }),
  'boots of rows': eachBuffer((buffer) => {
    const last = buffer.rows.at(-1);
    if (last) buffer.rows[buffer.rows.length - 1] = { ...last, row: { ...last.row, boot: '' } };
  }),
  'sequences of rows': eachBuffer((buffer) => {
    const last = buffer.rows.at(-1);
    if (last) buffer.rows[buffer.rows.length - 1] = { ...last, row: { ...last.row, sequence: 0 } };
  }),
  'newest observations': eachBuffer((buffer) => {
    buffer.newestMs = NEVER;
  }),
  'newest values': eachBuffer((buffer) => {
    buffer.newestValueMs = NEVER;
  }),
  'suppressed stretches': eachBuffer((buffer) => {
    buffer.suppressed = [];
  }),
  generations: eachBuffer((buffer) => {
    if (buffer.generation !== undefined) Object.assign(buffer, { generation: undefined });
  }),
  'settled timelines': eachInstance(({ settled }) => copyTimeline(emptyTimeline(), settled)),
  'current timelines': eachInstance(({ current }) => copyTimeline(emptyTimeline(), current)),
  'reported incidents': eachInstance((instance) => {
    instance.reported = undefined;
  }),
  'times of the last edges': eachInstance(({ reported }) => {
    if (reported) reported.lastAtMs = NEVER;
  }),
  'corrections of incidents': eachInstance(({ reported }) => {
    for (const incident of reported?.incidents ?? []) incident.corrected = false;
  }),
  'missing data': eachInstance(({ reported }) => {
    if (reported) reported.missing = undefined;
  }),
  'decided incidents': eachInstance((instance) => {
    instance.decided = undefined;
  }),
  'held VMs': eachInstance((instance) => {
    instance.held = undefined;
  }),
  'unreported firings': eachInstance((instance) => {
    instance.unreported = undefined;
  }),
  'past runs': eachInstance((instance) => {
    instance.pastRuns = undefined;
  }),
  'starts of instances': eachInstance((instance) => {
    instance.sinceMs = NEVER;
  }),
  'starts of breaches': ({ projects }) => {
    for (const { rules } of projects.values()) {
      for (const rule of rules.values()) rule.breachFromMs = NEVER;
    }
  },
  'power states': eachFacts((facts) => {
    facts.power = 'UNREPORTED';
  }),
  'times of power states': eachFacts((facts) => {
    facts.powerMs = NEVER;
  }),
  'data centers': eachFacts((facts) => {
    facts.datacenter = '';
  }),
  'clocks that are ahead': eachFacts((facts) => {
    facts.aheadMs = NEVER;
  }),
  retirements: ({ retired }) => {
    for (const vms of retired.values()) vms.clear();
  },
  'the blind window': (state) => {
    state.blind = undefined;
  },
  'the identity of the blind window': (state) => {
    if (state.blind) state.blind = { ...state.blind };
  },
  outages: (state) => {
    state.outages = undefined;
  },
  'open incidents': ({ open }) => open.clear(),
  'paused rules': ({ paused }) => paused.clear(),
  quotas: ({ projects }) => {
    for (const project of projects.values()) project.instancesMax = Number.POSITIVE_INFINITY;
  },
  'the start of listening': (state) => {
    state.listeningSinceMs = Number.POSITIVE_INFINITY;
  },
  'the last tick': (state) => {
    state.lastTickMs = NEVER;
  },
  'the latest time': (state) => {
    state.latestMs = NEVER;
  },
  'the lease': (state) => {
    state.epoch = 0;
  },
};

function eachBuffer(omit: (buffer: SeriesBuffer) => void): Omission {
  return ({ projects }) => {
    for (const { vms } of projects.values()) {
      for (const { buffers } of vms.values()) for (const buffer of buffers.values()) omit(buffer);
    }
  };
}

function eachInstance(omit: (instance: Instance) => void): Omission {
  return eachBuffer(({ instances }) => instances.forEach(omit));
}

function eachFacts(omit: (facts: VmFacts) => void): Omission {
  return ({ facts }) => {
    for (const vms of facts.values()) for (const each of vms.values()) omit(each);
  };
}
