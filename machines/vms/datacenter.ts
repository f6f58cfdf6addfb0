/**
 * State of one data center: whether its collectors report. Whether the telemetry of a VM is live is
 * computed from its last observation; the data center's state is committed, because people are
 * notified of it.
 */
import { assertEvent, assign, setup } from 'xstate';

export interface DatacenterInput {
  /** Unix ms of the commit that creates it. */
  readonly at: number;
  readonly name: string;
}

export interface DatacenterContext {
  readonly name: string;
  /** Last report before the current silence, Unix ms; null = it reports. */
  readonly silentSinceMs: number | null;
  /** Start of the current state, Unix ms. */
  readonly changedMs: number;
}

/** Times in Unix ms. */
export type DatacenterEvent =
  | { readonly type: 'silenceNoticed'; readonly at: number; readonly sinceMs: number }
  | { readonly type: 'reported'; readonly at: number };

export const datacenterMachine = setup({
  types: {
    context: {} as DatacenterContext,
    events: {} as DatacenterEvent,
    input: {} as DatacenterInput,
  },
  actions: {
    recordSilence: assign(({ event }) => {
      assertEvent(event, 'silenceNoticed');
      return { silentSinceMs: event.sinceMs, changedMs: event.at };
    }),
    recordReport: assign(({ event }) => ({ silentSinceMs: null, changedMs: event.at })),
  },
}).createMachine({
  id: 'datacenter',
  description: 'A data center: whether its collectors report.',
  context: ({ input }) => ({
    name: input?.name ?? '',
    silentSinceMs: null,
    changedMs: input?.at ?? 0,
  }),
  initial: 'live',
  states: {
    live: {
      description: 'Its collectors report.',
      on: {
        silenceNoticed: {
          description: 'All its collectors have been silent for three sampling intervals.',
          target: 'stale',
          actions: 'recordSilence',
        },
      },
    },
    stale: {
      description: 'Its collectors are silent; its history stays readable, never shown as live.',
      on: {
        reported: {
          description: 'A collector reports again.',
          target: 'live',
          actions: 'recordReport',
        },
      },
    },
  },
});
