/**
 * What the interface document says of identities, with the tests that stand for it: the rules of its
 * section 5, and the identities of its section 2.
 */

export interface Covered {
  /** How the row begins, or the number of the rule, in the document. */
  readonly row: string;
  /** Test file below `test/`, and the name of a test in it. */
  readonly tests: readonly (readonly [file: string, name: string])[];
}

const keys = 'identity/rpc-keys.test.ts';
const ci = 'ci/keyless-ci.test.ts';
const exchange = 'ci/exchange.test.ts';
const ciCalls = 'ci/rpc-ci.test.ts';

/** Section 5, by number; `4.1` is the first point below the fourth rule. */
export const rules: readonly Covered[] = [
  {
    row: '1',
    tests: [
      [
        'identity/auth.test.ts',
        'an issued key authenticates; the commit holds its hash and never the key',
      ],
      [ciCalls, 'Connection set-up, steps (a) to (f), and the exchange'],
    ],
  },
  {
    row: '2',
    tests: [
      [keys, 'Its keys cannot exceed the account’s current permissions'],
      [keys, 'A personal key acts within its owner’s current access'],
      [
        'identity/authorisation.test.ts',
        'What a caller may do in its project, it may do in no other, there or not',
      ],
    ],
  },
  {
    row: '3',
    tests: [
      [keys, 'Secret shown once: everything but the secret is told afterwards'],
      [keys, 'Exact resend answers metadata without the secret; another body is refused'],
      [keys, 'A lost secret is recovered by revoking the key and creating or rotating anew'],
    ],
  },
  {
    row: '4',
    tests: [
      [
        'e2e/ci.test.ts',
        'the nine steps of docs/ci.md, run as they stand there, end in a job that reads',
      ],
    ],
  },
  {
    row: '4.1',
    tests: [['cli/auth-ci.test.ts', 'a job without the permission is told how to get it']],
  },
  {
    row: '4.2',
    tests: [
      [
        'cli/auth-ci.test.ts',
        '502, 503 and 504 are asked again, with the audience encoded each time',
      ],
      ['e2e/ci.test.ts', 'the official client gets a token for the same trust'],
    ],
  },
  { row: '4.3', tests: [[ciCalls, 'No Authorization header; the assertion is the proof']] },
  {
    row: '4.4',
    tests: [
      [ci, 'The returned token lives 15 minutes, acts only in the approved project'],
      [ciCalls, 'Permissions allowed by both the connection and its service account'],
    ],
  },
  { row: '5', tests: [[ciCalls, 'Connection set-up, steps (a) to (f), and the exchange']] },
  {
    row: '6',
    tests: [
      [
        ciCalls,
        'Accepted workflow events: push, workflow_dispatch, schedule, with the exact event',
      ],
      [ciCalls, 'Pull-request contexts are rejected'],
      [exchange, 'A verification run from another branch: refused until that branch is verified'],
    ],
  },
  {
    row: '7',
    tests: [
      [ciCalls, 'A typed repository name alone never establishes trust'],
      [
        'ci/rpc-ci-proofs.test.ts',
        'Signing in to the dashboard with the CI platform’s account does not authorize a workflow',
      ],
    ],
  },
  {
    row: '8',
    tests: [
      [
        'cli/auth-ci.test.ts',
        'the token is alone on standard output, its mask before it on the other',
      ],
      [
        'ci/rpc-ci-step.test.ts',
        'The pasted step proves the identity of the job, and prints no secret',
      ],
    ],
  },
  {
    row: '9',
    tests: [
      [
        ciCalls,
        'Editing trust permissions invalidates outstanding tokens; disabling is the emergency revocation',
      ],
    ],
  },
];

/** Section 2, the table of identities and the points below it. */
export const identities: readonly Covered[] = [
  {
    row: '| Scoped personal key |',
    tests: [[keys, 'A personal key acts within its owner’s current access']],
  },
  {
    row: '| Project service account |',
    tests: [
      [keys, 'A service account’s keys survive their creator’s leaving, a personal key does not'],
      [keys, 'Created from a permission template: two of them, and what they grant'],
    ],
  },
  {
    row: '| CI workflow trust (approved connection) |',
    tests: [
      [
        ci,
        'Operator review and approval make an approved connection, whose approved permissions apply',
      ],
    ],
  },
  {
    row: "- Permission template 'Metrics scraper'",
    tests: [[keys, 'Created from a permission template: two of them, and what they grant']],
  },
  {
    row: '- Capabilities:',
    tests: [
      [
        'identity/authorisation.test.ts',
        'Each method lets in whom the table says, and refuses the others as it says',
      ],
    ],
  },
  {
    row: '- Key lifetime:',
    tests: [[keys, 'Scoped key lifetime: default 90 days, maximum 1 year']],
  },
  {
    row: '- Rotation:',
    tests: [[keys, 'Key rotation overlap: up to 24 hours, and none at all when none is asked']],
  },
  {
    row: '- Disabling an identity',
    tests: [
      [keys, 'Disabling an identity or removing a grant affects subsequent requests'],
      [
        'identity/revocation.test.ts',
        'Of … revocations under load, no request after the answer succeeds',
      ],
    ],
  },
  {
    row: '- Creation and rotation requests',
    tests: [
      [keys, 'Creation and rotation requests, and every other change, carry a client request_id'],
    ],
  },
];
