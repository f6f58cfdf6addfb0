/**
 * A toy machine for tests of the host: a counter with a limit. It resets itself some time after its
 * last step, and closes on request. Its effect makes the host write a record.
 */
import { assign, setup } from 'xstate';
import type { EffectExpander } from '../../actors/platform/host/host-port.ts';
import type { MachineDefinition } from '../../machines/platform/definition.ts';

declare module '../../machines/audit/registry.ts' {
  interface MachineTypes {
    counter: { context: Readonly<CounterContext>; event: CounterEvent; input: { at: number } };
    /** Events for a machine that no host knows, or that misbehaves. */
    odd: {
      context: Readonly<Record<string, unknown>>;
      event: { type: string; at: number };
      input: { at?: number };
    };
  }
}

declare module '../../actors/platform/host/rows.ts' {
  interface RecordBodies {
    counter: { count: number };
    note: Readonly<Record<string, unknown>>;
  }
}

export const COUNTER_LIMIT = 5;
export const COUNTER_RESET_MS = 60_000;

interface CounterContext {
  readonly count: number;
  readonly changedMs: number;
  /** Present in version 2 only. */
  readonly total?: number;
}

type CounterEvent =
  | { type: 'added'; at: number }
  | { type: 'seen'; at: number }
  | { type: 'closed'; at: number };

function counterMachine(counted: (context: CounterContext) => Partial<CounterContext>) {
  return setup({
    types: {
      context: {} as CounterContext,
      events: {} as CounterEvent,
      input: {} as { at: number },
    },
    actions: {
      effect: (_, _params: { type: 'recordIncident' }) => {},
      count: assign(({ context, event }) => ({
        count: context.count + 1,
        changedMs: event.at,
        ...counted(context),
      })),
      reset: assign({ count: 0 }),
    },
    guards: { belowLimit: ({ context }) => context.count < COUNTER_LIMIT },
    delays: { quiet: COUNTER_RESET_MS },
  }).createMachine({
    id: 'counter',
    context: ({ input }) => ({
      count: 0,
      changedMs: input?.at ?? 0,
      ...counted({ count: 0, changedMs: 0 }),
    }),
    initial: 'zero',
    states: {
      zero: { on: { added: { target: 'counting', actions: ['count', recordIncident()] } } },
      counting: {
        on: {
          added: {
            target: 'counting',
            reenter: true,
            guard: 'belowLimit',
            actions: ['count', recordIncident()],
          },
        },
        after: { quiet: { target: 'zero', actions: ['reset', recordIncident()] } },
      },
      closed: { type: 'final' },
    },
    on: { closed: '.closed', seen: {} },
  });
}

function recordIncident() {
  return { type: 'effect', params: { type: 'recordIncident' } } as const;
}

/** Version 1: the original counter. */
export const counter: MachineDefinition = {
  name: 'counter',
  version: 1,
  description: 'Counts up to a limit',
  machine: counterMachine(() => ({})),
  upcasters: {},
  publicFields: [],
};

/** Version 2: also keeps the total ever counted, which version 1 did not have. */
export const counterV2: MachineDefinition = {
  ...counter,
  version: 2,
  machine: counterMachine((context) => ({ total: (context.total ?? 0) + 1 })),
  upcasters: {
    1: ({ value, context }) => ({ value, context: { ...context, total: context.count } }),
  },
};

/** Writes the counter's record, as the alerting code writes an incident's. */
export const expandCounter: EffectExpander = (effect, source, draft) => {
  if (effect.type !== 'recordIncident') throw new Error(`No effect ${effect.type} here`);
  if (source.machine !== 'counter') throw new Error(`No effects of ${source.machine} here`);
  const { instance: id, context } = source;
  draft.putRecord({ kind: 'counter', id, body: { count: context.count }, sort: id });
};
