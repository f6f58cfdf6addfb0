/**
 * The notifier opens a channel for every registered kind and passes each attempt to the channel of
 * its target. All HTTP kinds share one guarded agent. It is the last stage before the network; the
 * stages before it are in `actors/delivery/attempt-path.ts`.
 */
import type { AttemptOutcome, Channel, Notifier } from '../../../actors/delivery/notifier-port.ts';
import { createHttpExchange, type HttpExchangeDeps } from './http/exchange.ts';
import { limitsOf, notificationKinds } from './kinds.ts';
import type { MailServerDeps } from './message/notification-kind.ts';

export interface NotifierDeps extends HttpExchangeDeps {
  readonly mail?: MailServerDeps;
}

/** Opens the notifier. Closing it closes every connection. */
export function openNotifier({ mail, ...deps }: NotifierDeps): Notifier {
  const exchange = createHttpExchange(deps);
  const channels = new Map<string, Channel>();
  for (const [name, kind] of Object.entries(notificationKinds)) {
    const channel = kind.open({ exchange, guard: deps.guard, mail });
    if (channel) channels.set(name, channel);
  }
  return {
    sendsTo: (kind) => channels.has(kind),
    limitsOf,
    attempt(request) {
      const { kind } = request.target;
      return channels.get(kind)?.attempt(request) ?? Promise.resolve(withoutChannel(kind));
    },
    async close() {
      await Promise.all([...channels.values()].map((channel) => channel.close()));
      await exchange.close();
    },
  };
}

function withoutChannel(kind: string): AttemptOutcome {
  const error = `This service is not configured to send to ${kind}`;
  return { kind: 'failed', unknown: false, ours: true, error };
}
