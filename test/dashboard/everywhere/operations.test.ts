/**
 * The list of the dashboard's operations is complete: it covers every change of the API, and each
 * is walked.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { getOption } from '@bufbuild/protobuf';
import { test } from 'tap';
import { policy } from '../../../src/gen/svc/options/v1/policy_pb.ts';
import { allMethods } from '../../support/every-method.ts';
import { operations } from '../../support/walk.ts';

/** Changes made only by programs. */
const OF_PROGRAMS = [
  'ExchangeCiToken',
  'SubmitCiVerification',
  'EnrolAgent',
  'WriteSamples',
  'RetireVms',
];

test('DASH-24: every change open to people is an operation in the dashboard', async (t) => {
  const changes = (await allMethods())
    .filter((method) => getOption(method, policy).mutation)
    .map(({ name }) => name)
    .filter((name) => !OF_PROGRAMS.includes(name));
  const covered = new Set<string>(Object.values(operations).flat());
  t.same(
    changes.filter((name) => !covered.has(name)),
    [],
  );
});

test('DASH-24: each operation is walked by one test with its name', async (t) => {
  const sources = ['..', '../../long/dashboard']
    .flatMap((path) => {
      const folder = new URL(`${path}/`, import.meta.url);
      const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
      return files.map((name) => new URL(name, folder));
    })
    .filter(({ pathname }) => pathname.endsWith('.test.ts'))
    .map((file) => readFileSync(file, 'utf8'))
    .join('\n');
  const walked = [...sources.matchAll(/\bwalk\(\s*t,\s*'([^']+)'/g)].map(([, name]) => name);
  t.same(walked.toSorted(), Object.keys(operations).toSorted());
});
