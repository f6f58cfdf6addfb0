/** Actions and steps, one per line: the output of `svc audit list` and `svc admin transitions`. */
import type { Transition } from '../gen/svc/audit/v1/audit_pb.ts';
import { table } from './client/output.ts';
import { localTime } from './client/texts.ts';
import { addressText } from './identity/options.ts';

const COLUMNS = ['time', 'by', 'machine', 'instance', 'event', 'from → to', 'request id'];

/** @param none text if there are no transitions */
export function transitionTable(transitions: readonly Transition[], none: string): string {
  return table(COLUMNS, transitions.map(rowOf), none);
}

/**
 * Actions as sentences, one per line: when, who, what.
 * @param none text if there are no actions
 */
export function actionTable(transitions: readonly Transition[], none: string): string {
  const rows = transitions.map((act) => [
    localTime(act.atUnixMs / 1000n),
    whoText(act),
    act.sentence,
  ]);
  return table(['time', 'who', 'did'], rows, none);
}

/** Only the name; an unverified address is marked. */
export function whoText({ by, byDisplayName, byUnprovenEmail }: Transition): string {
  if (byDisplayName === '') return by.replace(/^projects\/[^/]+\//, '');
  const isProven = byUnprovenEmail === '';
  return isProven ? byDisplayName : `${byDisplayName} (${addressText('', byUnprovenEmail)})`;
}

function rowOf(transition: Transition): string[] {
  const { atUnixMs, machine, instance, event, requestId } = transition;
  return [
    localTime(atUnixMs / 1000n),
    actorText(transition),
    machine,
    instance,
    event,
    `${stateText(transition.fromJson)} → ${stateText(transition.toJson)}`,
    requestId === '' ? '-' : requestId,
  ];
}

function actorText({ by, byDisplayName, byUnprovenEmail }: Transition): string {
  if (byDisplayName === '') return by;
  const mark = byUnprovenEmail === '' ? '' : `, ${addressText('', byUnprovenEmail)}`;
  return `${by} (${byDisplayName}${mark})`;
}

/** A state's name or, for a state with parts, its JSON; empty before the first step. */
function stateText(text: string): string {
  if (text === '') return '-';
  const state: unknown = JSON.parse(text);
  return typeof state === 'string' ? state : text;
}
