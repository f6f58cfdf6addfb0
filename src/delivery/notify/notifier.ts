/** The service's notifier: hands each attempt to the channel of its target. */
import type {
  AttemptOutcome,
  AttemptRequest,
  Channel,
  Notifier,
  Target,
} from '../../../actors/delivery/notifier-port.ts';

export type Channels = { readonly [K in Target['kind']]?: Channel<K> };

/** What is for a target without a channel (mail where no server is configured) is not to be asked. */
export function createNotifier(channels: Channels): Notifier {
  return {
    sendsTo: (kind) => channels[kind] !== undefined,
    attempt(request) {
      const channel = channels[request.target.kind];
      if (!channel) return Promise.resolve(withoutChannel(request));
      // A channel takes the requests of its kind, and this one is of that kind.
      return (channel as Notifier).attempt(request);
    },
    async close() {
      await Promise.all(Object.values(channels).map((channel) => channel.close()));
    },
  };
}

function withoutChannel({ target }: AttemptRequest): AttemptOutcome {
  const error = `This service is not set up to send to ${target.kind}`;
  return { kind: 'failed', unknown: false, ours: true, error };
}
