/** Each numbered case of evaluation.md, with the tests that are named after it. */
import type { Covered } from './interface-identities.ts';

const fold = 'alerting/evaluation.test.ts';
const rates = 'alerting/evaluation-rates.test.ts';
const rules = 'alerting/evaluation-rules.test.ts';
const restart = 'alerting/evaluation-restart.test.ts';
const unavailable = 'alerting/evaluation-unavailable.test.ts';
const properties = 'alerting/evaluation-properties.test.ts';
const whole = 'alerting/evaluator-unavailable.test.ts';
const replayed = 'telemetry/collectors/replay.test.ts';
const incidents = 'alerting/incidents.test.ts';
const recheck = 'delivery/recheck.test.ts';

export const cases: readonly Covered[] = [
  {
    row: '1',
    tests: [
      [fold, 'case 1: a run fires when it spans the duration, however many samples that takes'],
    ],
  },
  {
    row: '2',
    tests: [[fold, 'case 2: a gap up to the tolerance keeps the run, a longer one restarts it']],
  },
  {
    row: '3',
    tests: [[fold, 'case 3: a gap while firing is no recovery, which needs observed good samples']],
  },
  {
    row: '4',
    tests: [
      [
        'alerting/evaluation-age.test.ts',
        'case 4: rows in order are told as the oracle has them, whatever the ticks',
      ],
      [unavailable, 'case 4: telemetry that stays away is a rule of its own, fired from a moment'],
      [
        unavailable,
        'case 4: its end is an observed fresh row, and says nothing of the metric rule',
      ],
    ],
  },
  {
    row: '5',
    tests: [
      [
        'alerting/evaluation-age.test.ts',
        'case 5: told and timeline differ only by firings marked corrected',
      ],
      [properties, 'case 5: the timeline is a function of the sorted observations'],
      [properties, 'case 5: what is told is a function of the log, and its times only grow'],
      [properties, 'case 5: told and timeline differ only by firings marked corrected'],
      [fold, 'case 5: a late sample is inserted and its window computed again'],
    ],
  },
  {
    row: '6',
    tests: [[fold, 'case 6: a late breach that completes a run notifies only if the run is fresh']],
  },
  {
    row: '7',
    tests: [
      [
        'alerting/evaluation-age.test.ts',
        'case 7: it recovers by a fresh row alone, and times of edges only grow',
      ],
      [unavailable, 'case 7: a burst of old rows does not make telemetry look live'],
      [fold, 'case 7: a buffered batch is sorted, applied whole, and only its end notifies'],
    ],
  },
  {
    row: '8',
    tests: [
      [fold, 'case 8: a sample seen before is ignored, another value at its time is a conflict'],
    ],
  },
  {
    row: '9',
    tests: [
      [whole, 'case 9: the cause of a clock that is ahead reaches the incident'],
      [unavailable, 'case 9: telemetry that is refused for its clock names that cause'],
      [fold, 'case 9: a sample from the future is refused; a clock going back is ordered'],
    ],
  },
  {
    row: '10',
    tests: [[rates, 'case 10: a counter that drops is a reset, never negative and never a spike']],
  },
  {
    row: '11',
    tests: [[rates, 'case 11: the first sample of a counter has no rate, which is not 0']],
  },
  {
    row: '12',
    tests: [
      [rates, 'case 12: no rate is computed across a gap longer than the tolerance'],
      [rates, 'case 12: rates are per device, then summed; a detach or attach costs one interval'],
      [rates, 'case 12: an unknown increase of one device is no zero: nothing recovers by it'],
    ],
  },
  {
    row: '13',
    tests: [[rates, 'case 13: what is not a finite value is missing; only rounding is clamped']],
  },
  {
    row: '14',
    tests: [[rates, 'case 14: the interval in which vCPUs changed has no utilisation']],
  },
  {
    row: '15',
    tests: [
      [unavailable, 'case 15: a VM stopped by its owner pauses evaluation and recovers nothing'],
      [unavailable, 'case 15: a boot grace precedes unavailable telemetry'],
    ],
  },
  {
    row: '16',
    tests: [
      [whole, 'case 16: a rule saved while a VM is silent fires from the true moment'],
      [rules, 'case 16: a new revision replaces the old one silently and knows what was stored'],
    ],
  },
  {
    row: '17',
    tests: [
      [rules, 'case 17: a filesystem rule has one instance for each mount'],
      [rules, 'case 17: a shorter duration fires from stored samples; a resume starts a new run'],
    ],
  },
  {
    row: '18',
    tests: [
      [whole, 'case 18: a restart at any moment of an outage changes nothing of it'],
      [whole, 'case 18: a VM that fell silent before the log’s floor is still known'],
      [
        'alerting/evaluation-age.test.ts',
        'case 18: stopped anywhere and rebuilt from the start, it is as if never stopped',
      ],
      [
        'alerting/evaluation-age.test.ts',
        'case 18: from a floor, rows and last observations it goes on the same',
      ],
      [restart, 'case 18: stopped anywhere and rebuilt from the start, it is as if never stopped'],
      [restart, 'case 18: stopped anywhere and rebuilt from a floor and rows, it goes on the same'],
      [rules, 'case 18: edges decided before are recognised; ids come from key and ordinal'],
      [rules, 'case 18: downtime of the evaluator is no gap in the data'],
    ],
  },
  {
    row: '19',
    tests: [
      [whole, 'case 19: an outage is judged over all projects, each is told of its own VMs'],
      [whole, 'case 19: fewer than five, or no more than 30 %, are each their own'],
      [unavailable, 'case 19: after a restart they wait for the backlog and one interval'],
      [unavailable, 'case 19: a data center that falls silent is one incident of each rule'],
    ],
  },
  {
    row: '20',
    tests: [
      [incidents, 'case 20: it ends with the incident, the next one is not acknowledged'],
      [incidents, 'case 20: at its end the state is rechecked and people are told once'],
      [
        incidents,
        'case 20: snooze and reminders are kept in the database, a restart changes neither',
      ],
    ],
  },
  {
    row: '21',
    tests: [
      [recheck, 'case 21: recovered before the first attempt, neither message is sent'],
      [recheck, 'case 21: after an unknown outcome the recovery is sent, the firing no more'],
      [
        recheck,
        'case 21: the recovery goes to those who were told, whoever the rule names by then',
      ],
    ],
  },
  {
    row: '22',
    tests: [
      [
        'delivery/interleavings.test.ts',
        'case 22: no attempt is opened after what ends its reason was acknowledged',
      ],
    ],
  },
  {
    row: '23',
    tests: [
      [replayed, 'case 23: frozen rows of a running VM come as observed, each with its time'],
      [
        'telemetry/metrics.test.ts',
        'case 23: frozen after an hour of rows that change nothing while the VM runs',
      ],
    ],
  },
  {
    row: '24',
    tests: [
      [replayed, 'case 24: a powered-off VM that repeats its last row is told as off'],
      [unavailable, 'case 24: a powered-off VM that repeats its last row is not live'],
    ],
  },
];
