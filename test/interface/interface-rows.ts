/**
 * What the interface document says of measurements and transitions (sections 1 and 3), row by row,
 * with the tests that stand for it.
 */
import type { Covered } from './interface-identities.ts';

const ci = 'ci/keyless-ci.test.ts';
const ruleRows = 'alerting/alert-rule-rows.test.ts';
const incidents = 'alerting/incidents.test.ts';
const deliveries = 'delivery/interface.test.ts';
const quality = 'telemetry/rpc-quality.test.ts';
const points = 'telemetry/rpc-query.test.ts';

/** Section 1, what must hold of measurements. */
export const measurements: readonly Covered[] = [
  {
    row: '| CPU utilization |',
    tests: [
      [
        'telemetry/metrics.test.ts',
        'a step of utilisation is cpu-seconds over interval x vCPUs observed then',
      ],
      [quality, 'A resize, a conflict and a value out of range keep what was observed'],
    ],
  },
  {
    row: '| Guest memory |',
    tests: [
      [
        'telemetry/collectors/host.test.ts',
        'memory used is total minus free, page cache included, never MemAvailable',
      ],
      [
        'telemetry/collectors/libvirt.test.ts',
        'trap 5: memory figures count only when the guest has told them anew',
      ],
    ],
  },
  {
    row: '| Disk and network rates |',
    tests: [[quality, 'Disks and networks: the sum of the VM, then a series of each device']],
  },
  {
    row: '| Filesystem usage |',
    tests: [
      [points, 'mounts are series of their own'],
      [points, 'what the guest does not report, and what is off, is told by name'],
      ['alerting/evaluation-quota.test.ts', 'a mount that vanishes is missing data, not recovery'],
    ],
  },
  {
    row: '| Data quality |',
    tests: [
      [points, 'old samples are STALE, however full the range'],
      [quality, 'What cannot be read is an error, and neither empty nor zero'],
      [
        'telemetry/collectors/loop.test.ts',
        'rows that the sink refuses keep their times and arrive in order once it is back',
      ],
    ],
  },
  {
    row: '- Errors or absent samples must never',
    tests: [
      [points, 'No answer has a point that was not observed'],
      ['alerting/evaluation-properties.test.ts', 'removing samples never produces a recovery'],
    ],
  },
  {
    row: '- Baseline monitoring never installs',
    tests: [
      [
        'e2e/agent.test.ts',
        'reading and opening views changes nothing on a VM: no write reaches the hypervisor',
      ],
    ],
  },
  {
    row: '- Expanded monitoring:',
    tests: [
      ['vms/enrolments.test.ts', 'only in the data centers that have it, and where the VM is'],
      ['e2e/agent.test.ts', 'a VM is enrolled, watched through an outage, and un-enrolled'],
    ],
  },
  {
    row: '- When a data center is stale,',
    tests: [[points, 'a stale data center’s samples are STALE at once, and readable']],
  },
];

/** Section 3: rows by object and what moves it, then the sentences below the table. */
export const transitions: readonly Covered[] = [
  {
    row: '| Alert rule accepted | Evaluator receiving the desired revision |',
    tests: [
      [
        ruleRows,
        'Alert rule accepted: until its revision reaches the evaluator it is pending and watches no VM, then Active',
      ],
    ],
  },
  {
    row: '| Active rule or firing instance | Pause, edit or delete of the rule |',
    tests: [
      [
        ruleRows,
        'Active rule or firing instance: … of the rule retires it explicitly, and no recovery is manufactured',
      ],
    ],
  },
  {
    row: '| Firing incident | Acknowledge |',
    tests: [
      [incidents, 'Firing incident, Acknowledge: still firing; it records attention only'],
      [
        'alerting/rpc-incident-acts.test.ts',
        'People acknowledge, snooze and unsnooze a firing incident',
      ],
    ],
  },
  {
    row: '| Firing incident | Snooze |',
    tests: [
      [incidents, 'Firing incident, Snooze: still evaluated; notifications are suppressed'],
      [incidents, 'evaluation goes on: it recovers while snoozed, and its end tells nobody'],
    ],
  },
  {
    row: '| Firing incident | Missing data or evaluator error |',
    tests: [
      [incidents, 'Firing incident, Missing data or evaluator error: no change'],
      [
        'alerting/alert-invariants.test.ts',
        'alertInstance: missing data, errors of the evaluator and time leave the condition',
      ],
    ],
  },
  {
    row: '| Workflow verification | Time |',
    tests: [[ci, 'Workflow verification: 30 minutes elapse, and it is expired']],
  },
  {
    row: '| Workflow verification | Operator review and approval |',
    tests: [
      [ci, 'Verification proves identity only; no project access is granted'],
      [
        ci,
        'Operator review and approval make an approved connection, whose approved permissions apply',
      ],
    ],
  },
  {
    row: '| Approved connection | Permission edit |',
    tests: [[ci, 'Permission edit: same connection, and outstanding tokens are invalidated']],
  },
  {
    row: '| Approved connection | Change of repository or workflow identity |',
    tests: [
      [
        'ci/exchange.test.ts',
        'Change of repository or workflow identity requires new verification',
      ],
    ],
  },
  {
    row: '| Approved connection | Disable or delete |',
    tests: [[ci, 'Disable or delete: access stops; removing the pairing secret revokes nothing']],
  },
  {
    row: '| Notification | Send attempt |',
    tests: [
      [deliveries, 'Section 3, Notification | Send attempt: the endpoint accepts it -> Sent'],
    ],
  },
  {
    row: 'Before sending, recipient removal, subscription pause, recovery and snooze are rechecked.',
    tests: [
      [
        deliveries,
        'Section 3, before sending, recipient removal, subscription pause, recovery and snooze are rechecked',
      ],
      ['delivery/recipient-acts.test.ts', 'a recipient who goes while a mail waits gets no other'],
    ],
  },
  {
    row: 'Expired or no-longer-relevant firing messages are not sent later.',
    tests: [
      [deliveries, 'Section 3, expired or no-longer-relevant firing messages are not sent later'],
    ],
  },
];
