/**
 * Which URLs a chat destination may have: each service's own host, because a pasted URL is the only
 * thing that says where messages go. Asked when a URL is saved and again before each attempt.
 */
import type { AddressGuard } from '../http/address-guard.ts';
import { requestTarget } from '../http/request-target.ts';

export type ChatKind = 'slack' | 'teams' | 'discord';

interface Rule {
  isHost(host: string): boolean;
  /** Of the path and query that are sent. */
  readonly target: RegExp;
  /** What would do. */
  readonly sentence: string;
}

const RULES: Readonly<Record<ChatKind, Rule>> = {
  slack: {
    isHost: (host) => host === 'hooks.slack.com',
    // Slack's workflows listen under /triggers/ and /workflows/, and take another form.
    target: /^\/(?!triggers\/|workflows\/)[\w/-]+$/,
    sentence:
      "A Slack URL is that of an app's incoming webhook: https://hooks.slack.com/services/...",
  },
  teams: {
    isHost: (host) => /^[a-z0-9.-]+\.(?:logic\.azure\.com|api\.powerplatform\.com)$/.test(host),
    target: /^\/./,
    sentence:
      'A Teams URL is that of a workflow: https://....logic.azure.com/... or https://....api.powerplatform.com/...',
  },
  discord: {
    isHost: (host) => host === 'discord.com',
    // Without a suffix: /slack and /github take other forms.
    target: /^\/api\/(?:v\d{1,2}\/)?webhooks\/\w+\/[\w-]+\/?(?:\?|$)/,
    sentence:
      'A Discord URL is that of a channel webhook: https://discord.com/api/webhooks/<id>/<token>',
  },
};

/**
 * Why this URL is none of the chat service's, as a sentence; undefined when it may be kept. Hosts
 * that the operator allows (`SVC_WEBHOOK_ALLOW`) stand in for any of them: labs and tests.
 */
export function refuseChatUrl(
  kind: ChatKind,
  text: string,
  guard: Pick<AddressGuard, 'refuseUrl' | 'isExempt'>,
): string | undefined {
  const refusal = guard.refuseUrl(text);
  if (refusal) return refusal;
  if (!/^[\x21-\x5b\x5d-\x7e]+$/.test(text)) {
    return 'The URL must be printable ASCII characters, as the service gave it';
  }
  const url = new URL(text);
  if (guard.isExempt(url)) return undefined;
  if (/(?:^|\.)webhook\.office\.com$/.test(url.hostname)) {
    return 'Microsoft has retired webhook.office.com: make a Teams workflow and give its URL';
  }
  const { isHost, target, sentence } = RULES[kind];
  const isIts = isHost(url.hostname) && url.port === '' && target.test(requestTarget(text));
  return isIts ? undefined : sentence;
}
