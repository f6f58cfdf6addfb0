/** Messages for tests of channels. Every text that other people may choose is the given one. */
import fc from 'fast-check';
import type { Message } from '../../src/delivery/notify/message/message.ts';
import { anyText } from './any-text.ts';

/** The longest URL that a rule may have. */
export const RUNBOOK_URL = `https://runbooks.example.com/${'x'.repeat(471)}`;

const START_MS = Date.UTC(2026, 0, 1);

/** A firing incident whose rule, VM, labels and project are all called `name`. */
export function messageNamed(name: string, more: Partial<Message> = {}): Message {
  return {
    event: 'FIRING',
    severity: 'CRITICAL',
    title: `Firing: ${name} on ${name}`,
    summary: `cpu_utilization_pct of ${name} has met the condition since 2026-01-01 00:00:00 UTC.`,
    runbook: { text: name, url: RUNBOOK_URL },
    facts: [
      { name: 'Severity', value: 'CRITICAL' },
      { name: 'VM', value: name },
      { name, value: name },
      { name: 'Condition', value: 'cpu_utilization_pct above 90 % for 5 min' },
      { name: 'Observed then', value: 'no reading' },
      { name: 'Rule', value: name },
      { name: 'Project', value: name },
    ],
    url: 'https://svc.example.com/projects/acme/incidents/inc_1',
    linkText: 'Open the incident',
    chart: { window: windowOf([91, 95, 93.5]), threshold: 90, unit: 'percent' },
    ...more,
  };
}

/** Observations 30 s apart; `undefined` = no observation. */
export function windowOf(values: readonly (number | undefined)[]) {
  return values.flatMap((value, index) =>
    value === undefined ? [] : [{ observedMs: START_MS + index * 30_000, value }],
  );
}

/** Names as people and attackers choose them: any text, and fragments of each dialect. */
export const names = fc.oneof(
  anyText({ maxLength: 300 }),
  fc
    .array(
      fc.constantFrom(
        ...['<!channel>', '<@U1>', '<https://evil.example|x>', '&amp;', '*b*', '_i_', '~s~', '`c`'],
        ...['@everyone', '<@&1>', '[x](https://evil.example)', '**', '||', '# ', '> ', '- ', '1. '],
        ...[
          '<at>x</at>',
          '{{DATE(2026-01-01T00:00:00Z)}}',
          '<b>',
          '</p>',
          '"',
          "'",
          '\\',
          '\n',
          '\r\n',
        ],
        ...[
          '𝒳',
          '👩‍👩‍👧',
          'ﷺ',
          '\u202e',
          'a'.repeat(200),
          'https://evil.example',
          '\ud83d',
          'web-1',
        ],
      ),
      { maxLength: 60 },
    )
    .map((pieces) => pieces.join('')),
  fc.constantFrom('x'.repeat(20_000), '<'.repeat(5_000), '𝒳'.repeat(5_000), '\\'.repeat(9_000), ''),
);
