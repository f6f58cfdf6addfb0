/**
 * How many addressees one rule tells: a firing is one commit with them all, and cannot be divided.
 * Checked inside each decision that makes an audience larger.
 */
import type { AlertRuleSpec } from '../../machines/alerting/alert-rule.ts';
import { Refusal } from '../../streams/platform/refusal.ts';
import type { Draft, ProjectView } from '../platform/host/host-port.ts';
import { allInstances } from '../platform/host/live-instances.ts';
import { recipientsOf } from './eligible.ts';

/** Mail recipients and other destinations of one rule: each is at most 2 KB of a commit of 256. */
export const AUDIENCE_MAX = 100;

/** Throws a `Refusal` LIMIT_EXCEEDED (`of`, `limit`, `wanted`) when the rule told too many. */
export function checkAudience(
  draft: Draft,
  { displayName, destinationNames }: Pick<AlertRuleSpec, 'displayName' | 'destinationNames'>,
): void {
  const wanted = audienceOf(draft, destinationNames);
  if (wanted <= AUDIENCE_MAX) return;
  throw new Refusal(
    'LIMIT_EXCEEDED',
    `The destinations of the rule "${displayName}" would have ${wanted} recipients, of at most ${AUDIENCE_MAX} in all ` +
      '(a webhook or a chat is one): give it fewer, or mail to one address that reaches many',
    { of: 'audience', limit: String(AUDIENCE_MAX), wanted: String(wanted) },
  );
}

/** Call it where a destination has got more recipients. Throws as `checkAudience`. */
export function checkAudiencesWith(draft: Draft, destination: string): void {
  for (const { context } of allInstances(draft, 'alertRule')) {
    const { spec } = context;
    if (spec.destinationNames.some((name) => name.endsWith(`/${destination}`))) {
      checkAudience(draft, spec);
    }
  }
}

function audienceOf(view: ProjectView, names: readonly string[]): number {
  let count = 0;
  for (const id of new Set(names.map((name) => name.slice(name.lastIndexOf('/') + 1)))) {
    const destination = view.instance('destination', id);
    if (destination) count += recipientsOf(view, destination).length;
  }
  return count;
}
