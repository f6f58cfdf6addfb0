/**
 * Each rule of the interface document that is about identities has a test of its own: the rules of
 * its section 5, and the identity rows of its sections 2, 3 and 8. Here is which, and that none was
 * forgotten: a row that the document has and this list has not is a failure, and so is a test that
 * is gone.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { componentPath, needs } from '../support/components.ts';

interface Covered {
  /** How the row begins, or the number of the rule, in the document. */
  readonly row: string;
  /** Test file below `test/`, and parts of names of tests in it. */
  readonly tests: readonly (readonly [file: string, name: string])[];
}

const keys = 'src/rpc-keys.test.ts';
const ci = 'actors/identity-ci.test.ts';
const exchange = 'actors/identity-ci-exchange.test.ts';
const ciCalls = 'src/rpc-ci.test.ts';

/** Section 5, by number; `4.1` is the first point below the fourth rule. */
const rules: readonly Covered[] = [
  {
    row: '1',
    tests: [
      ['src/auth.test.ts', 'an issued key authenticates'],
      [ciCalls, 'Connection set-up, steps (a) to (f), and the exchange'],
    ],
  },
  {
    row: '2',
    tests: [
      [keys, 'Its keys cannot exceed the account’s current permissions'],
      [keys, 'A personal key acts within its owner’s current access'],
      ['src/authorisation.test.ts', 'What a caller may do in its project, it may do in no other'],
    ],
  },
  {
    row: '3',
    tests: [
      [keys, 'Secret shown once'],
      [keys, 'Exact resend answers metadata without the secret'],
      [keys, 'A lost secret is recovered by revoking the key'],
    ],
  },
  { row: '4', tests: [['e2e/ci.test.ts', 'the nine steps of docs/ci.md']] },
  { row: '4.1', tests: [['src/cli-auth-ci.test.ts', 'a job without the permission is told']] },
  {
    row: '4.2',
    tests: [
      ['src/cli-auth-ci.test.ts', '502, 503 and 504 are asked again, with the audience encoded'],
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
      [ciCalls, 'Accepted workflow events: push, workflow_dispatch, schedule'],
      [ciCalls, 'Pull-request contexts are rejected'],
      [exchange, 'A verification run from another branch'],
    ],
  },
  {
    row: '7',
    tests: [
      [ciCalls, 'A typed repository name alone never establishes trust'],
      [
        'src/rpc-ci-proofs.test.ts',
        'Signing in to the dashboard with the CI platform’s account does not authorize',
      ],
    ],
  },
  {
    row: '8',
    tests: [
      ['src/cli-auth-ci.test.ts', 'the token is alone on standard output, its mask before it'],
      ['src/rpc-ci-step.test.ts', 'The pasted step proves the identity of the job, and prints no'],
    ],
  },
  {
    row: '9',
    tests: [
      [ciCalls, 'Editing trust permissions invalidates outstanding tokens; disabling is the'],
    ],
  },
];

/** Section 2, the table of identities and the points below it. */
const identities: readonly Covered[] = [
  {
    row: '| Scoped personal key |',
    tests: [[keys, 'A personal key acts within its owner’s current access']],
  },
  {
    row: '| Project service account |',
    tests: [
      [keys, 'A service account’s keys survive their creator’s leaving'],
      [keys, 'Created from a permission template'],
    ],
  },
  {
    row: '| CI workflow trust (approved connection) |',
    tests: [[ci, 'Operator review and approval make an approved connection']],
  },
  {
    row: "- Permission template 'Metrics scraper'",
    tests: [[keys, 'Created from a permission template']],
  },
  {
    row: '- Capabilities:',
    tests: [['src/authorisation.test.ts', 'Each method lets in whom the table says']],
  },
  { row: '- Key lifetime:', tests: [[keys, 'Scoped key lifetime: default 90 days']] },
  { row: '- Rotation:', tests: [[keys, 'Key rotation overlap: up to 24 hours']] },
  {
    row: '- Disabling an identity',
    tests: [
      [keys, 'Disabling an identity or removing a grant affects subsequent requests'],
      ['src/revocation.test.ts', 'revocations under load, no request after the answer succeeds'],
    ],
  },
  {
    row: '- Creation and rotation requests',
    tests: [[keys, 'Creation and rotation requests, and every other change, carry']],
  },
];

/** Section 3, by object and what moves it. */
const transitions: readonly Covered[] = [
  {
    row: '| Workflow verification | Time |',
    tests: [[ci, 'Workflow verification: 30 minutes elapse, and it is expired']],
  },
  {
    row: '| Workflow verification | Operator review and approval |',
    tests: [
      [ci, 'Verification proves identity only; no project access is granted'],
      [ci, 'Operator review and approval make an approved connection'],
    ],
  },
  {
    row: '| Approved connection | Permission edit |',
    tests: [[ci, 'Permission edit: same connection, and outstanding tokens are invalidated']],
  },
  {
    row: '| Approved connection | Change of repository or workflow identity |',
    tests: [[exchange, 'Change of repository or workflow identity requires new verification']],
  },
  {
    row: '| Approved connection | Disable or delete |',
    tests: [[ci, 'Disable or delete: access stops; removing the pairing secret revokes nothing']],
  },
];

/** Section 8. */
const limits: readonly Covered[] = [
  {
    row: '| Exchanged token lifetime |',
    tests: [
      [ci, 'The returned token lives 15 minutes'],
      ['src/access-tokens.test.ts', 'a token ends after its 15 minutes'],
    ],
  },
  {
    row: '| Workflow verification validity |',
    tests: [[ci, 'Workflow verification: 30 minutes elapse, and it is expired']],
  },
  { row: '| Scoped key lifetime |', tests: [[keys, 'Scoped key lifetime: default 90 days']] },
  { row: '| Key rotation overlap |', tests: [[keys, 'Key rotation overlap: up to 24 hours']] },
];

const all = [...rules, ...identities, ...transitions, ...limits];

t.test('every test that stands for a rule of the interface is there', async (t) => {
  for (const { row, tests } of all) {
    for (const [file, name] of tests) {
      const text = readFileSync(join(import.meta.dirname, '..', file), 'utf8');
      t.ok(text.includes(name), `${row}: "${name}" in test/${file}`);
    }
  }
});

t.test('no identity rule of the interface lacks its test', needs('shared folder'), async (t) => {
  const path = join(componentPath('shared folder'), 'spec/interface.md');
  const sections = readFileSync(path, 'utf8').split(/^## /m);
  const section = (number: number) => sections[number] ?? '';
  t.same(
    rulesOf(section(5)),
    rules.map(({ row }) => row),
  );
  const said = section(2).split('### Identities')[1]?.split('### ')[0] ?? '';
  const points = said.split('\n').filter((line) => /^(\| (?!Identity |---)|- )/.test(line));
  allCovered(t, points, identities);
  const moves = section(3).split('\n');
  allCovered(
    t,
    moves.filter((line) => /^\| (Workflow verification|Approved connection) /.test(line)),
    transitions,
  );
  const bounds = section(8).split('\n');
  allCovered(
    t,
    bounds.filter((line) =>
      /^\| (Exchanged token|Workflow verification|Scoped key|Key )/.test(line),
    ),
    limits,
  );
});

function allCovered(t: Test, lines: readonly string[], covered: readonly Covered[]): void {
  for (const line of lines)
    t.ok(
      covered.some(({ row }) => line.startsWith(row)),
      line,
    );
  for (const { row } of covered)
    t.ok(
      lines.some((line) => line.startsWith(row)),
      `still: ${row}`,
    );
}

/** `1`, `2`, ... and `4.1`, ... of the points below a rule. */
function rulesOf(section: string): string[] {
  let rule = '';
  return section
    .split('\n')
    .slice(1)
    .flatMap((line) => {
      const [, indent, number] = /^( *)(\d+)\. /.exec(line) ?? [];
      if (number === undefined) return [];
      if (indent !== '') return [`${rule}.${number}`];
      rule = number;
      return [number];
    });
}
