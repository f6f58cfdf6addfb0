/** Texts of the rule preview. */
import { localized } from '../../../messages/localized.ts';

const times = (count: number): string => (count === 1 ? 'once' : `${count} times`);

export const texts = localized({
  title: 'Preview',
  estimate: (range: string) =>
    `An estimate based on the stored readings of the last ${range}. Nothing is saved or sent.`,
  begins: (time: string) => `Readings are available since ${time}.`,
  incomplete: 'Choose a metric and a threshold to see the preview.',
  unfinished: 'The rule is incomplete. This is the previous preview.',
  outdated: 'The rule has changed and is being evaluated again.',
  current: 'This preview matches the rule as shown here.',
  query: 'Query',
  queries: {
    OK: 'All histories were read.',
    PARTIAL: 'Some histories could not be read and are left out.',
    FAILED: 'No history could be read, so it is unknown whether the rule would have fired.',
    unknown: 'The service did not report whether all histories were read.',
  },
  history: 'History',
  histories: {
    COMPLETE: 'All VMs have readings for the whole range.',
    PARTIAL: 'Some VMs have readings for part of the range only.',
    NONE: 'There are no readings of this metric, so it is unknown whether the rule would have fired.',
    unknown: 'The service did not report how far the history reaches.',
  },
  readings: 'Readings',
  counts: (evaluated: string, expected: string) => `${evaluated} evaluated of ${expected} expected`,
  missingReadings: (count: string) => `${count} expected readings are missing.`,
  nothingKnown: (names: string) => `No data for ${names}.`,
  andMore: (names: string, more: string) => `${names} and ${more} more`,
  result: 'Result',
  fired: (count: number, text: string, vms: string, of: string) =>
    `The rule would have fired ${count === 1 ? 'once' : `${text} times`}, on ${vms} of ${of} VMs.`,
  firedAtLeast: (text: string) => `The rule would have fired more than ${text} times.`,
  quiet: 'The rule would not have fired on these readings.',
  unknownResult: 'It is unknown whether the rule would have fired.',
  noVms: 'The rule selects no VM.',
  longer: (range: string) => `Preview the last ${range}`,
  longerEffect: 'Takes longer',
  shorter: (range: string) => `Back to the last ${range}`,
  lanes: 'When it would have fired',
  noLanes: 'No VM of the rule has readings of this metric.',
  more: (count: number) => (count === 1 ? '1 more' : `${count} more`),
  omitted: (count: string) =>
    `${count} more are not listed. Those that would have fired come first.`,
  laneFired: (count: number) => `fired ${times(count)}`,
  laneFiring: (count: number) => `fired ${times(count)}, still firing`,
  laneRuns: (count: number) => `breached ${times(count)} without firing`,
  laneSustaining: 'sustaining at the end',
  laneQuiet: 'did not fire',
  laneGaps: (count: number, duration: string) =>
    `${count === 1 ? '1 gap' : `${count} gaps`}, ${duration}`,
  laneSince: (time: string) => `first reading ${time}`,
  laneAtLeast: 'older states are not listed',
  keys: {
    firing: 'firing',
    sustaining: 'sustaining',
    missing: 'data missing',
  },
  traced: 'Readings of',
  traceRange: 'Readings of the last 24 h.',
  traceUnknown: 'The history of this VM could not be read.',
  traceSilence: 'A rule on missing data has no readings to draw.',
  traceNone: 'No readings of this series in this range.',
  threshold: 'Threshold',
  thresholdHelp: 'Drag the line, or move it with the arrow keys, to try another threshold.',
  recovery: (value: string) => `The dashed line is the recovery threshold, ${value}.`,
  gapReason: 'no readings of this metric',
});
