/**
 * The binary handler of `WriteSamples` against the RPC framework. For any input, both give the same
 * answer and store the same rows. The handler's own count shows that the framework did not answer
 * twice.
 */
import { gzipSync } from 'node:zlib';
import { create, toJsonString } from '@bufbuild/protobuf';
import { test } from 'tap';
import { WriteSamplesRequestSchema } from '../../src/gen/svc/ingest/v1/ingest_pb.ts';
import { Refusal } from '../../streams/platform/refusal.ts';
import { encoded } from '../support/write-requests.ts';
import {
  answeredFast,
  behaviour,
  nothing,
  openPair,
  openSide,
  ordinary,
  responseOf,
  type Sent,
} from '../support/write-ways.ts';

test('an ordinary request is taken by the handler and stored as the framework stores it', async (t) => {
  const pair = await openPair(t);
  behaviour.write = async () => ({
    accepted: 1_000_000,
    duplicates: 3,
    sequence: 0,
    rejected: [{ row: 1, series: 'svc_vm_load1', reason: 'NOT_FINITE' }],
  });
  for (const pieces of [1, 3]) {
    const answer = await pair.agree(t, { body: encoded(ordinary), pieces }, `${pieces} pieces`);
    t.equal(answer.status, 200);
    const reported = responseOf(answer);
    t.equal(reported.accepted, 1_000_000n);
    t.match(reported.rejected, [
      {
        row: 1,
        series: 'svc_vm_load1',
        reason: 'NOT_FINITE',
        rowRefused: false,
        field: 'rows[1].values[3]',
        message: /not finite/,
      },
    ]);
  }
  t.equal(await answeredFast(pair.fast), 2, 'both by the handler');
  await pair.agree(t, { body: encoded({ projectName: 'projects/demo' }) }, 'no rows');
  t.equal(await answeredFast(pair.fast), 3);
});

test('rows of one layout share the same list of series', async (t) => {
  const side = await openSide(t, true);
  const series: unknown[] = [];
  behaviour.write = async ({ rows }) => {
    for (const row of rows) series.push(row.series);
    return nothing;
  };
  await side.send({ body: encoded(ordinary) });
  await side.send({ body: encoded(ordinary) });
  t.equal(series.length, 4);
  t.equal(new Set(series).size, 1);
});

test('the reach of a caller is passed on, the same on both paths', async (t) => {
  const pair = await openPair(t);
  behaviour.write = async ({ project, reach }) => ({
    accepted: 1,
    duplicates: 0,
    sequence: 0,
    rejected: [
      { row: 0, series: `${project} ${reach?.datacenter} ${reach?.vm}`, reason: 'OTHER_VM' },
    ],
  });
  const into = (project: string) =>
    encoded({ ...ordinary, projectName: `projects/${project}`, rows: [] });
  const cases: readonly (readonly [string, string, string])[] = [
    ['collector', 'demo', 'demo null null'],
    ['bound', 'demo', 'demo DC-2 null'],
    ['agent', 'demo', 'demo DC-1 vm-1'],
    ['everywhere', 'demo', 'demo DC-2 null'],
    ['everywhere', 'second', 'second DC-2 null'],
  ];
  for (const [key, project, reported] of cases) {
    const headers = { authorization: `Bearer ${key}` };
    const answer = await pair.agree(t, { body: into(project), headers }, `${key} into ${project}`);
    t.equal(responseOf(answer).rejected[0]?.series, reported);
  }
  t.equal(await answeredFast(pair.fast), cases.length, 'all by the handler');
  const refused: readonly (readonly [string, string, number])[] = [
    ['everywhere', 'third', 404],
    ['everywhere', '_system', 400],
    ['bound', 'second', 403],
    ['agent', 'second', 403],
  ];
  const foreign = encoded({ ...ordinary, rows: [{ vmName: 'projects/second/vms/x' }] });
  const headers = { authorization: 'Bearer everywhere' };
  const boundary = await pair.agree(t, { body: foreign, headers }, 'a row of another project');
  t.match(boundary, { status: 403, body: /PROJECT_BOUNDARY/ });
  for (const [key, project, status] of refused) {
    const headers = { authorization: `Bearer ${key}` };
    const answer = await pair.agree(t, { body: into(project), headers }, `${key} into ${project}`);
    t.equal(answer.status, status, answer.body);
  }
  t.equal(await answeredFast(pair.fast), cases.length);
});

test('a request that the handler does not take reaches the framework with its body intact', async (t) => {
  const pair = await openPair(t);
  behaviour.write = async () => ({ ...nothing, accepted: 5 });
  const body = encoded(ordinary);
  const json = toJsonString(WriteSamplesRequestSchema, create(WriteSamplesRequestSchema, ordinary));
  const otherProject = encoded({ ...ordinary, projectName: 'projects/other' });
  const cases: readonly (readonly [string, Sent, number])[] = [
    ['no credential', { body, headers: { authorization: undefined } }, 401],
    ['a revoked key', { body, headers: { authorization: 'Bearer gone' } }, 401],
    ['a key whose look-up fails', { body, headers: { authorization: 'Bearer fault' } }, 500],
    ['a key that may only read', { body, headers: { authorization: 'Bearer reader' } }, 403],
    ['another project', { body: otherProject }, 403],
    ['another project, in pieces', { body: otherProject, pieces: 3 }, 403],
    ['an unknown protocol version', { body, headers: { 'connect-protocol-version': '2' } }, 400],
    ['JSON', { body: Buffer.from(json), headers: { 'content-type': 'application/json' } }, 200],
    ['gzip', { body: gzipSync(body), headers: { 'content-encoding': 'gzip' } }, 200],
    ['not gzip', { body, headers: { 'content-encoding': 'gzip' } }, 400],
    ['chunked', { body, headers: { 'content-length': undefined }, pieces: 3 }, 200],
    ['a position to wait for', { body, headers: { 'svc-sequence': pair.fast.positionOf(7) } }, 200],
    ['an invalid position', { body, headers: { 'svc-sequence': 'x' } }, 200],
    ['too many positions', { body, headers: { 'svc-sequence': ','.repeat(32) } }, 400],
    ['no bytes', { body: Buffer.alloc(0) }, 400],
    ['over 1 MiB', { body: Buffer.alloc(1024 * 1024 + 1) }, 400],
    ['a row without a VM', { body: encoded({ ...ordinary, rows: [{}] }) }, 200],
    ['not UTF-8', { body: Buffer.concat([body, Buffer.from([0x12, 1, 0xff])]) }, 400],
    ['an unknown field', { body: Buffer.concat([body, Buffer.from([0x78, 1])]) }, 200],
    ['a wrong wire type', { body: Buffer.concat([body, Buffer.from([0x10, 1])]) }, 400],
  ];
  for (const [name, sent, status] of cases) {
    const answer = await pair.agree(t, sent, name);
    t.equal(answer.status, status, `${name}: ${answer.body}`);
  }
  t.equal(await answeredFast(pair.fast), 0);
});
test('an ingest refusal keeps its words, and a fault has no details', async (t) => {
  const pair = await openPair(t);
  const errors = [
    new Refusal('NOT_READY', 'The disk is full'),
    new Refusal('TOO_MANY_REQUESTS', 'Too many rows wait'),
    new Error('secret detail'),
  ];
  const statuses: number[] = [];
  for (const error of errors) {
    behaviour.write = () => Promise.reject(error);
    const answer = await pair.agree(t, { body: encoded(ordinary) }, error.message);
    statuses.push(answer.status);
    t.notMatch(answer.body, 'secret detail');
  }
  t.same(statuses, [503, 429, 500]);
  t.equal(await answeredFast(pair.fast), 3);
});

test('a fault while the project is looked up is answered, and the service continues', async (t) => {
  const pair = await openPair(t);
  behaviour.write = async () => nothing;
  const body = encoded({
    ...ordinary,
    projectName: 'projects/fault',
    rows: [{ vmName: 'vm-1' }],
  });
  const headers = { authorization: 'Bearer everywhere' };
  for (const pieces of [1, 3]) {
    const answer = await pair.agree(t, { body, headers, pieces }, `${pieces} pieces`);
    t.equal(answer.status, 500);
    t.notMatch(answer.body, 'A mistake of ours');
  }
  t.equal(await answeredFast(pair.fast), 2, 'by the handler');
  t.equal((await pair.agree(t, { body: encoded(ordinary) }, 'afterwards')).status, 200);
});

test('series beyond the bytes of a row are rejected on both paths, with their index', async (t) => {
  const pair = await openPair(t);
  behaviour.write = async ({ rows, rejected = [] }) => ({
    ...nothing,
    accepted: rows.reduce((sum, { values }) => sum + values.length, 0),
    rejected,
  });
  const rowOf = (count: number) => ({
    vmName: 'vm-1',
    values: Array.from({ length: count }, (_, i) => ({
      series: 'vm_x',
      labels: { a: `${i}`.padStart(200, 'é') },
      value: 1,
    })),
  });
  for (const count of [300, 500]) {
    const rows = [{ vmName: 'vm-2' }, rowOf(count)];
    const answer = await pair.agree(t, { body: encoded({ ...ordinary, rows }) }, `${count} series`);
    t.equal(answer.status, 200, answer.body);
    const { accepted, rejected } = responseOf(answer);
    t.equal(Number(accepted) + rejected.length, count);
    t.equal(rejected.length > 0, count === 500);
    if (rejected.length === 0) continue;
    t.match(rejected[0], {
      row: 1,
      reason: 'LIMIT_EXCEEDED',
      field: `rows[1].values[${accepted}]`,
      message: /exceed 163840 bytes/,
      rowRefused: false,
    });
  }
  t.equal(await answeredFast(pair.fast), 1, 'the shorter one by the handler');
});
