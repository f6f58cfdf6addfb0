/**
 * The kinds of destinations in words, in the order in which they are offered. The dashboard runs
 * this file too, so it imports nothing. A test compares it with `registered-kinds.ts`.
 */

interface KindWords {
  readonly [key: string]: string;
  readonly title: string;
  /** For the choice of a kind. */
  readonly help: string;
  /** Help for the field of its URL; empty if it has none. */
  readonly urlHelp: string;
}

export const kindWords = {
  webhook: {
    title: 'Webhook',
    help: 'Signed JSON to an HTTPS endpoint of yours',
    urlHelp:
      'An HTTPS address that responds without redirects and is reachable from the internet. It is stored encrypted; only its host and last four characters are shown.',
  },
  email: {
    title: 'Mail',
    help: 'Project members, one mail each, once they have confirmed',
    urlHelp: '',
  },
  slack: chat(
    'Slack',
    'A channel, through the incoming webhook of an app',
    'URL of an app’s incoming webhook: https://hooks.slack.com/services/…',
  ),
  teams: chat(
    'Microsoft Teams',
    'A channel or chat, through a workflow',
    'URL of a workflow: https://….logic.azure.com/… or https://….api.powerplatform.com/…',
  ),
  discord: chat(
    'Discord',
    'A channel, through its webhook',
    'URL of a channel: https://discord.com/api/webhooks/…',
  ),
} as const satisfies Readonly<Record<string, KindWords>>;

function chat(title: string, help: string, url: string): KindWords {
  const secret =
    'Anyone who has it can write to the channel, so it is stored encrypted and never shown again.';
  return { title, help, urlHelp: `${url} ${secret}` };
}
