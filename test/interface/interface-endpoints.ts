/**
 * What the interface document says of endpoints and events (sections 4 and 6), rule by rule, with
 * the tests that stand for it.
 */
import type { Covered } from './interface-identities.ts';

const incidents = 'alerting/incidents.test.ts';
const deliveries = 'delivery/interface.test.ts';
const limited = 'platform/rpc-limits.test.ts';
const receiver = 'sdk/webhook.test.ts';

/** Section 4, the rules below the table of endpoints, by number. */
export const endpoints: readonly Covered[] = [
  {
    row: '1',
    tests: [
      [
        'alerting/rpc-preview.test.ts',
        'A preview commits nothing, puts nothing into the log and tells nobody',
      ],
      [
        'alerting/rpc-preview.test.ts',
        'History that cannot be read is told as PARTIAL or FAILED, not as quiet',
      ],
    ],
  },
  {
    row: '2',
    tests: [
      [
        'alerting/rpc-rules.test.ts',
        'the exact request sent again is answered the same, and done once',
      ],
      ['alerting/rpc-rules.test.ts', 'another body under the same request id is refused'],
    ],
  },
  {
    row: '3',
    tests: [
      [
        'telemetry/prometheus-api/routes.test.ts',
        'every other path of a Prometheus, and every spelling that is not exact, is not there',
      ],
      [
        'telemetry/prometheus-api/tenancy-requests.test.ts',
        '13: every other path of a Prometheus: an allow-list',
      ],
    ],
  },
  {
    row: '4',
    tests: [
      ['e2e/scrape.test.ts', 'what a real Prometheus scrapes is what was written'],
      ['vms/export-shards.test.ts', 'a VM never changes its shard, and no shard has more than 500'],
      [
        'telemetry/export.test.ts',
        'tenancy: both routes need a bearer that may read exactly this project',
      ],
    ],
  },
  { row: '5', tests: [['e2e/reading.test.ts', 'what the guide tells people to paste works']] },
  {
    row: '6',
    tests: [
      [
        'e2e/reading.test.ts',
        "Grafana's data source, as the guide provisions it, passes Save & test",
      ],
      [
        'telemetry/prometheus-api/routes.test.ts',
        'only the Authorization header of a credential of this project that may read is admitted',
      ],
    ],
  },
  { row: '7', tests: [[limited, 'Points per series: at most 10,000, both ends counted as asked']] },
  {
    row: '8',
    tests: [
      [
        'identity/authorisation.test.ts',
        'Each method lets in whom the table says, and refuses the others as it says',
      ],
    ],
  },
];

/** Section 6, by number; `6.1` is the first point below the sixth. */
export const events: readonly Covered[] = [
  { row: '1', tests: [[incidents, 'In-app incidents work without external destinations']] },
  {
    row: '2',
    tests: [
      [
        'delivery/notifiers.test.ts',
        'a firing incident is told by every channel, with its names and times',
      ],
    ],
  },
  {
    row: '3',
    tests: [
      [deliveries, 'Section 6, rule 3: at least once, with bounded retries for up to 24 hours'],
      [
        'delivery/interleavings.test.ts',
        'a process that dies loses nothing, and repeats what was on the wire alone',
      ],
    ],
  },
  {
    row: '4',
    tests: [
      [
        'audit/retention.test.ts',
        'Incident and delivery history 90 days: what has ended goes, what fires stays',
      ],
      [
        'audit/retention.test.ts',
        'Audit is kept for its retention; what is left proves where it begins',
      ],
    ],
  },
  {
    row: '5',
    tests: [[deliveries, 'Section 6, rule 5: a timed-out delivery may already have been accepted']],
  },
  {
    row: '6',
    tests: [
      [
        'sdk/package.test.ts',
        'the receiver of the guide stores each delivery once, and refuses others',
      ],
    ],
  },
  {
    row: '6.1',
    tests: [[receiver, 'Webhook body bound: 1 MiB is read, and no more of a request without end']],
  },
  {
    row: '6.2',
    tests: [
      ['sdk/go.test.ts', 'the module is well-formed, and passes its tests and vectors'],
      [receiver, 'every vector is verified, or refused for its reason'],
    ],
  },
  {
    row: '6.3',
    tests: [
      [receiver, 'a delivery id is claimed once, for at least 24 h 10 min, also after a restart'],
    ],
  },
  {
    row: '6.4',
    tests: [
      [
        'delivery/webhook.test.ts',
        'during an overlap both secrets sign, and the legacy signature keeps the previous',
      ],
    ],
  },
  {
    row: '6.5',
    tests: [
      [
        'delivery/destinations.test.ts',
        'a rotation: at most two secrets live, each told once, old ones forgotten',
      ],
      [
        'delivery/destinations.test.ts',
        'a webhook: sealed before it is committed, shown once, in no commit',
      ],
    ],
  },
  {
    row: '7',
    tests: [
      [
        'delivery/recipient-acts.test.ts',
        'test messages are deliveries of their own, to those who may be written to',
      ],
    ],
  },
];
