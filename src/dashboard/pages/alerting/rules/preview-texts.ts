/** Texts of the preview of a rule. */
import { localized } from '../../../messages/localized.ts';

const times = (count: number): string => (count === 1 ? 'once' : `${count} times`);

export const texts = localized({
  title: 'Preview',
  estimate: (range: string) =>
    `An estimate over the stored readings of the last ${range}. It saves nothing and sends nothing.`,
  begins: (time: string) => `There are readings since ${time}.`,
  incomplete: 'Choose a metric and a threshold to see it.',
  unfinished: 'The rule is not complete: this is the preview from before.',
  outdated: 'The rule has changed since; it is evaluated again.',
  current: 'This is the rule as it is shown here.',
  query: 'Query',
  queries: {
    OK: 'All histories could be read.',
    PARTIAL: 'Some histories could not be read, so they are left out.',
    FAILED: 'No history could be read: it is unknown whether the rule would have fired.',
    unknown: 'The service did not say whether all histories could be read.',
  },
  history: 'History',
  histories: {
    COMPLETE: 'Every VM has readings from the beginning on.',
    PARTIAL: 'Not every VM has readings from the beginning on.',
    NONE: 'There is no reading of this metric: it is unknown whether the rule would have fired.',
    unknown: 'The service did not say how far the history reaches.',
  },
  readings: 'Readings',
  counts: (evaluated: string, expected: string) => `${evaluated} evaluated of ${expected} expected`,
  missingReadings: (count: string) => `${count} expected readings are missing.`,
  nothingKnown: (names: string) => `Nothing is known of ${names}.`,
  andMore: (names: string, more: string) => `${names} and ${more} more`,
  result: 'Result',
  fired: (count: number, text: string, vms: string, of: string) =>
    `It would have fired ${count === 1 ? 'once' : `${text} times`}, on ${vms} of ${of} VMs.`,
  firedAtLeast: (text: string) => `It would have fired more than ${text} times.`,
  quiet: 'It would not have fired on these readings.',
  unknownResult: 'It is unknown whether it would have fired.',
  noVms: 'The rule selects no VM.',
  longer: (range: string) => `Preview the last ${range}`,
  longerEffect: 'Takes longer',
  shorter: (range: string) => `Back to the last ${range}`,
  lanes: 'When it would have fired',
  noLanes: 'No VM of the rule has a reading of this metric.',
  more: (count: number) => (count === 1 ? '1 more' : `${count} more`),
  omitted: (count: string) =>
    `${count} more are not listed; those that would have fired come first.`,
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
  traceSilence: 'A rule about silence has no readings to draw.',
  traceNone: 'Nothing is known of this series in this time: it has no reading.',
  threshold: 'Threshold',
  thresholdHelp: 'Drag the line, or move it by arrow keys, to try another threshold.',
  recovery: (value: string) => `The dashed line is the recovery threshold, ${value}.`,
  gapReason: 'it has no reading of this metric',
});
