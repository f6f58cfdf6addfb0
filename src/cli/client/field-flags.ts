/**
 * Maps request fields to flags: refusals of the service name fields, but users of a terminal know
 * flags.
 */
import type { Input, Option } from './arguments.ts';

/** By the last part of the field's name; a flag with the same name needs no entry. */
const FLAGS: Readonly<Record<string, string>> = {
  displayName: 'name',
  metricId: 'metric',
  metricIds: 'metric',
  sustainedSeconds: 'for',
  vmNames: 'vm',
  destinationNames: 'destination',
  repeatIntervalSeconds: 'repeat',
  labels: 'label',
  runbookText: 'runbook',
  runbookUrl: 'runbook-url',
  recoveryThreshold: 'recovery-threshold',
  recoverySeconds: 'recovery-for',
  historySeconds: 'history',
  groupWaitSeconds: 'group-wait',
  overlapSeconds: 'overlap',
};

/**
 * `Set --severity to INFO, WARNING or CRITICAL`, or `Check --name` if it was given; undefined if no
 * option of the action sets the field. @param field for example `spec.severity`
 */
export function flagHint(
  field: string,
  options: readonly Option[],
  input: Input,
): string | undefined {
  const last = field.slice(field.lastIndexOf('.') + 1);
  const option = options.find(({ name }) => name === (FLAGS[last] ?? last));
  if (!option) return undefined;
  const { name, choices } = option;
  if (input.isOn(name)) return `Check --${name}`;
  const others = name === 'vm' && options.some((one) => one.name === 'all-vms');
  if (others) return input.isOn('all-vms') ? undefined : 'Set --all-vms, or --vm NAME';
  return `Set --${name}${choices ? ` to ${anyOf(choices)}` : ''}`;
}

/** `INFO, WARNING or CRITICAL`. */
function anyOf(choices: readonly string[]): string {
  const last = choices.at(-1) ?? '';
  return choices.length === 1 ? last : `${choices.slice(0, -1).join(', ')} or ${last}`;
}
