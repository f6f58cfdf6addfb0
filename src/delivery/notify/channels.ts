/**
 * All channels of the service put together: what renders the messages of each kind of destination,
 * and what sends them. HTTP channels share one guarded agent.
 */
import type { DestinationKind } from '../../../machines/delivery/destination.ts';
import { encodeChatBody } from './chat/chat-body.ts';
import type { ChatKind } from './chat/hosts.ts';
import { createChatSender, DIALECTS } from './chat/sender.ts';
import type { Renderer } from './contents.ts';
import { encodeLetter, renderLetter } from './email/letter.ts';
import { createHttpExchange, type HttpExchangeDeps } from './http/exchange.ts';
import { messageOf } from './message.ts';
import { type Channels, createNotifier } from './notifier.ts';
import { renderWebhookBody } from './webhook/payload.ts';
import { createWebhookSender } from './webhook/sender.ts';

export interface ChannelsDeps extends HttpExchangeDeps {
  /** Absent: no mail server is set, and mail destinations fail until there is one. */
  readonly email?: Channels['email'];
}

export const renderers: Readonly<Record<DestinationKind, Renderer>> = {
  webhook: renderWebhookBody,
  slack: chatRenderer('slack'),
  teams: chatRenderer('teams'),
  discord: chatRenderer('discord'),
  email: (view, delivery, options) =>
    encodeLetter(renderLetter(messageOf(view, delivery, options))),
};

/** The service's notifier; closing it ends every connection. */
export function openNotifier({ email, ...deps }: ChannelsDeps) {
  const exchange = createHttpExchange(deps);
  const chat = { ...deps, exchange };
  const notifier = createNotifier({
    webhook: createWebhookSender(exchange),
    slack: createChatSender('slack', chat),
    teams: createChatSender('teams', chat),
    discord: createChatSender('discord', chat),
    ...(email && { email }),
  });
  return {
    ...notifier,
    async close() {
      await notifier.close();
      await exchange.close();
    },
  };
}

function chatRenderer(kind: ChatKind): Renderer {
  const { render } = DIALECTS[kind];
  return (view, delivery, options) => encodeChatBody(render(messageOf(view, delivery, options)));
}
