/**
 * Bugs planted on purpose, by name: each takes one of the guarantees away by standing in front of
 * an actor's port, so that production code needs no hook for it. A simulation that does not find
 * them would not find their like.
 */
import type { RunningHost } from '../../actors/host.ts';
import type { Draft } from '../../actors/host-port.ts';
import type { Ingest } from '../../actors/ingest-port.ts';
import type { MachineDefinition } from '../../machines/definition.ts';
import type { Stream } from '../../streams/stream.ts';

export interface Planted {
  /** What is broken, in a sentence. */
  readonly sentence: string;
  /** The invariant that must find it. */
  readonly breaks: string;
  readonly host?: (part: 'evaluator' | 'deliverer' | 'people', host: RunningHost) => RunningHost;
  readonly stream?: (part: 'ingest', stream: Stream) => Stream;
  readonly ingest?: (ingest: Ingest) => Ingest;
  readonly machines?: ReadonlyMap<string, MachineDefinition>;
}

/** The host, with every draft of a decision changed. */
function withDrafts(host: RunningHost, change: (draft: Draft) => Partial<Draft>): RunningHost {
  return {
    ...host,
    submit: (submission) =>
      host.submit({
        ...submission,
        decide: (draft) => submission.decide(overlaid(draft, change(draft))),
      }),
  };
}

/** The draft, but for the methods given. */
function overlaid(draft: Draft, methods: Partial<Draft>): Draft {
  return new Proxy(draft, {
    get(target, name) {
      const value = Reflect.get(name in methods ? methods : target, name);
      return typeof value === 'function' ? value.bind(name in methods ? methods : target) : value;
    },
  });
}

export const PLANTED: Readonly<Record<string, Planted>> = {};
void withDrafts;
