/**
 * What the interface document says of errors and limits (sections 7 and 8), row by row, with the
 * tests that stand for it.
 */
import type { Covered } from './interface-identities.ts';

const ci = 'ci/keyless-ci.test.ts';
const deliveries = 'delivery/interface.test.ts';
const quality = 'telemetry/rpc-quality.test.ts';
const gate = 'platform/project-gate.test.ts';
const queries = 'telemetry/query.test.ts';
const limited = 'platform/rpc-limits.test.ts';
const promql = 'telemetry/prometheus-api/limits.test.ts';
const alerting = 'alerting/alerting-limits.test.ts';
const keys = 'identity/rpc-keys.test.ts';
const receiver = 'sdk/webhook.test.ts';

/** Section 7, and the sentence below its table. */
export const errors: readonly Covered[] = [
  {
    row: '| Too many requests (concurrency is limited per project) |',
    tests: [
      [queries, 'Too many requests: a 429 that says when to come again'],
      [promql, 'Too many requests: 429, and Retry-After says when to come again'],
    ],
  },
  {
    row: '| Request too large in points, expression or response size |',
    tests: [
      [limited, 'Request too large in points, expression or response size: refused whole'],
      [promql, 'Request too large in points, expression or response size: each with its own error'],
    ],
  },
  {
    row: '| Upstream query exceeds 10 seconds |',
    tests: [
      [
        queries,
        'Upstream query exceeds 10 seconds: a 504 without points, and the read is given up',
      ],
      [
        promql,
        'Upstream query exceeds 10 seconds, or what was asked for: it fails and is never read as zero',
      ],
    ],
  },
  {
    row: '| Permission denied |',
    tests: [
      [
        promql,
        'Permission denied: boundary, capability and state of the credential, in the envelope',
      ],
      [
        'identity/authorisation-states.test.ts',
        'Every method refuses a caller from the request after its state has changed',
      ],
    ],
  },
  {
    row: '| Exchange denied |',
    tests: [
      [ci, 'Exchange denied: the service-account state does not match the connection'],
      [
        'ci/rpc-ci.test.ts',
        'A refused exchange says which claims differ, never a token, and is in the audit',
      ],
      [ci, 'Pull-request contexts are rejected, whatever is approved'],
    ],
  },
  {
    row: '| Save with stale `expectedVersion` |',
    tests: [
      [
        'alerting/rpc-rules.test.ts',
        'Save with stale expectedVersion: refused with the version that is current',
      ],
    ],
  },
  {
    row: '| Retired or missing telemetry |',
    tests: [
      [quality, 'Retired or missing telemetry: absent, and neither zero nor recovery'],
      [promql, 'Retired or missing telemetry: absent samples are not zero'],
      [
        'vms/vm-retirement.test.ts',
        'a retired VM ends its alerts as VM_DELETED: no recovery is manufactured',
      ],
    ],
  },
  {
    row: 'Troubleshooting rules:',
    tests: [
      [
        promql,
        'Troubleshooting rules: a stale data center is a warning with its last observation time',
      ],
      [
        'alerting/rpc-rules.test.ts',
        'A rule that is not applied yet is PENDING after half a second',
      ],
      [
        'delivery/rpc-deliveries.test.ts',
        'a delivery tells its state, its reason and each attempt',
      ],
    ],
  },
];

/** Section 8. */
export const limits: readonly Covered[] = [
  {
    row: '| Hosted retention |',
    tests: [
      [limited, 'Hosted retention: 7 days to the second, whatever chunks still hold'],
      [promql, 'Hosted retention: 7 days, nothing older is read'],
    ],
  },
  {
    row: '| Source sampling |',
    tests: [
      [limited, 'Source sampling: 30 seconds, so many samples are expected'],
      [promql, 'Source sampling: 30 seconds, each sample is a point of its own'],
    ],
  },
  {
    row: '| Query gateway upstream timeout |',
    tests: [
      [queries, 'Query gateway upstream timeout: 10 seconds, also when the work does not notice'],
      [
        promql,
        'Query gateway upstream timeout: 10 seconds, then the asker is told and the thread is free',
      ],
    ],
  },
  {
    row: '| Minimum range step |',
    tests: [
      [limited, 'Minimum range step: 30 seconds'],
      [promql, 'Minimum range step: 30 seconds, less is refused with the setting to change'],
    ],
  },
  {
    row: '| Points per series |',
    tests: [
      [limited, 'Points per series: at most 10,000, both ends counted as asked'],
      [promql, 'Points per series: at most 10,000, both ends counted'],
    ],
  },
  {
    row: '| Expression length |',
    tests: [[promql, 'Expression length: 16 KiB, by GET and by POST']],
  },
  {
    row: '| Response size |',
    tests: [
      [limited, 'Response size: 4 MiB, then ask for less'],
      [promql, 'Response size: 4 MiB, and what is larger is refused whole'],
    ],
  },
  {
    row: '| Concurrency |',
    tests: [
      [gate, 'Concurrency: limited per project, 8 calls run, 64 wait, more are to back off'],
      [
        promql,
        'Concurrency: limited per project, 429 with Retry-After, and others are not held up',
      ],
    ],
  },
  {
    row: '| Exchanged token lifetime |',
    tests: [
      ['identity/access-tokens.test.ts', 'Exchanged token lifetime: 15 minutes, also in the cache'],
      [ci, 'The returned token lives 15 minutes, acts only in the approved project'],
    ],
  },
  {
    row: '| Workflow verification validity |',
    tests: [
      [
        'identity/identity-invariants.test.ts',
        'Workflow verification validity: 30 minutes from its start, whatever is observed',
      ],
      [ci, 'Workflow verification: 30 minutes elapse, and it is expired'],
    ],
  },
  {
    row: '| Scoped key lifetime |',
    tests: [[keys, 'Scoped key lifetime: default 90 days, maximum 1 year']],
  },
  {
    row: '| Key rotation overlap |',
    tests: [[keys, 'Key rotation overlap: up to 24 hours, and none at all when none is asked']],
  },
  {
    row: '| Default alert rules per project |',
    tests: [
      [alerting, 'Default alert rules per project: 20, that saves at the same time cannot pass'],
      ['alerting/rpc-rules.test.ts', 'a project has at most 20'],
    ],
  },
  {
    row: '| Default destinations per project |',
    tests: [
      [
        alerting,
        'Default destinations per project: 5, that creations at the same time cannot pass',
      ],
      ['delivery/rpc-destinations.test.ts', 'a project has at most 5'],
    ],
  },
  {
    row: '| Default evaluated instances per project |',
    tests: [
      [
        alerting,
        'Default evaluated instances per project: 10,000, that saves at the same time cannot pass',
      ],
      [alerting, 'growth under allVms keeps what is evaluated, and is told until it fits again'],
    ],
  },
  {
    row: '| Webhook body bound |',
    tests: [
      [
        'delivery/webhook-receivers.test.ts',
        'Webhook body bound: 1 MiB, more is a fault of ours and is not sent',
      ],
      [receiver, 'Webhook body bound: 1 MiB is read, and no more of a request without end'],
    ],
  },
  {
    row: '| Webhook clock window |',
    tests: [[receiver, 'Webhook clock window: 5 minutes both ways, to the second']],
  },
  {
    row: '| Webhook retry period |',
    tests: [[deliveries, 'Section 8, Webhook retry period: up to 24 hours']],
  },
  {
    row: '| Incident and delivery history |',
    tests: [
      [
        'audit/retention.test.ts',
        'Incident and delivery history 90 days: what has ended goes, what fires stays',
      ],
    ],
  },
  {
    row: '| Inventory page size in the example |',
    tests: [[limited, 'Inventory page size in the example: 50 unless asked for, 1,000 at most']],
  },
];
