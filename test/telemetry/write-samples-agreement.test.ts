/**
 * `WriteSamples` has the same effect in JSON, in binary through the framework, and in binary
 * through the handler before it: the same rows are stored, and the same parts are rejected.
 */
import { deepStrictEqual } from 'node:assert';
import { fromBinary, fromJsonString } from '@bufbuild/protobuf';
import fc from 'fast-check';
import { test } from 'tap';
import type { WriteRequest } from '../../actors/telemetry/ingest/ingest-port.ts';
import { WriteSamplesResponseSchema } from '../../src/gen/svc/ingest/v1/ingest_pb.ts';
import { tries } from '../support/tries.ts';
import { anyRequest, damagedOf, encoded, type RequestInit } from '../support/write-requests.ts';
import {
  agrees,
  answeredFast,
  behaviour,
  jsonOf,
  openPair,
  ordinary,
  responseOf,
  type Sent,
  storing,
} from '../support/write-ways.ts';

test('API-42: any message gives the same answer and the same rows on all paths', async (t) => {
  const pair = await openPair(t);
  behaviour.write = storing;
  const reasons = new Set<string>();
  const agree = async (request: unknown) => {
    const body = encoded(request as RequestInit);
    const answer = await agrees(pair, body);
    const inJson = await pair.framework.send(jsonOf(body));
    const written = pair.framework.written.splice(0);
    deepStrictEqual(inJson.status, answer.status);
    deepStrictEqual(withoutSigns(written), withoutSigns(answer.written));
    if (answer.status !== 200) return;
    const response = fromJsonString(WriteSamplesResponseSchema, inJson.body.toString());
    deepStrictEqual(response, fromBinary(WriteSamplesResponseSchema, answer.body));
    for (const { reason } of response.rejected) reasons.add(reason);
  };
  await fc.assert(fc.asyncProperty(anyRequest, agree), { numRuns: 400 });
  const taken = await answeredFast(pair.fast);
  // About 45, by chance. A test of the framework alone would prove nothing.
  t.ok(taken > 20, `the handler took ${taken} of 400`);
  for (const reason of ['BAD_VM_NAME', 'BAD_SERIES', 'BAD_LABEL', 'RESERVED_NAME', 'BAD_FIELD']) {
    t.ok(reasons.has(reason), `${reason} among ${[...reasons].join(', ')}`);
  }
});

test('API-42: damaged bytes give the same answer on both paths, never an internal fault', async (t) => {
  const pair = await openPair(t);
  behaviour.write = storing;
  const statuses = new Map<number, number>();
  let rejected = 0;
  const damaged = damagedOf(fc.oneof(anyRequest, fc.constant(ordinary)));
  const property = fc.asyncProperty(damaged, async (bytes) => {
    const { status, body } = await agrees(pair, bytes);
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
    if (status !== 200) return status < 500;
    const response = fromBinary(WriteSamplesResponseSchema, body);
    if (response.rejected.some(({ reason }) => reason === 'UNREADABLE')) rejected++;
    return true;
  });
  await fc.assert(property, { numRuns: tries(600) });
  t.ok(statuses.has(200) && statuses.has(400), `seen: ${JSON.stringify([...statuses])}`);
  t.ok(rejected > 0, `${rejected} answers with an unreadable part`);
});

test('API-42: text that is not UTF-8 rejects only its own part, on all paths', async (t) => {
  const pair = await openPair(t);
  behaviour.write = storing;
  const disk = { series: 'svc_vm_disk_read_bytes_total', labels: { device: 'BROKEN' }, value: 1 };
  const body = encoded({
    projectName: 'projects/demo',
    rows: [
      { vmName: 'vm-1', displayName: 'BROKEN' },
      { vmName: 'vm-2', values: [{ series: 'svc_vm_load1', value: 1 }, disk] },
      { vmName: 'vm-3', bootId: 'BROKEN' },
      { vmName: 'vm-4' },
    ],
  });
  const expected = [
    { row: 0, series: 'displayName', reason: 'UNREADABLE', field: 'rows[0].displayName' },
    { row: 1, series: disk.series, reason: 'UNREADABLE', field: 'rows[1].values[1]' },
    { row: 2, series: '', reason: 'UNREADABLE', field: 'rows[2].bootId', rowRefused: true },
  ];
  const answer = await pair.agree(t, { body: broken(body) }, 'binary');
  t.match(responseOf(answer), { accepted: 3n, rejected: expected });
  const json = jsonOf(body);
  const inJson = await pair.agree(t, { ...json, body: broken(json.body) }, 'JSON');
  t.match(fromJsonString(WriteSamplesResponseSchema, inJson.body), {
    accepted: 3n,
    rejected: expected,
  });
});

/** With a byte that is not UTF-8 in each text BROKEN. */
function broken(body: Uint8Array): Buffer {
  const text = Buffer.from(body).toString('latin1');
  return Buffer.from(text.replaceAll('BROKEN', 'BRO\xffEN'), 'latin1');
}

test('API-45: an absent value is zero from old clients only, on all paths', async (t) => {
  const pair = await openPair(t);
  behaviour.write = async (request) => ({ ...(await storing(request)), accepted: 1 });
  const values = [{ series: 'svc_vm_load1' }, { series: 'vm_own', value: 0 }];
  const body = encoded({ projectName: 'projects/demo', rows: [{ vmName: 'vm-1', values }] });
  const rowsOf = async (version: string | undefined, sent: Sent) => {
    const headers = { ...sent.headers, 'svc-schema-version': version };
    for (const side of [pair.fast, pair.framework]) await side.send({ ...sent, headers });
    const [ours, theirs] = [pair.fast, pair.framework].map(({ written }) => written.splice(0));
    t.same(ours, theirs, 'the same on both paths');
    return ours?.[0];
  };
  for (const sent of [{ body }, jsonOf(body)]) {
    for (const old of [undefined, '1']) {
      const written = await rowsOf(old, sent);
      t.match(written, { rows: [{ values: [0, 0] }], rejected: undefined });
    }
    for (const declared of ['2', '3']) {
      const written = await rowsOf(declared, sent);
      t.match(written?.rows, [{ series: ['vm_own'], values: [0] }]);
      t.match(written?.rejected, [{ series: 'svc_vm_load1', reason: 'NO_VALUE' }]);
    }
  }
  t.equal(await answeredFast(pair.fast), 2, 'those of old clients by the handler');
  const headers = { 'svc-schema-version': 'x' };
  const answer = await pair.agree(t, { body, headers }, 'an invalid version');
  t.match(answer, { status: 400, body: /svc-schema-version/ });
});

/** JavaScript's JSON has no negative zero. */
function withoutSigns(written: readonly WriteRequest[]): readonly WriteRequest[] {
  return written.map((request) => ({
    ...request,
    rows: request.rows.map((row) => ({
      ...row,
      values: Array.from(row.values, (value) => value + 0),
    })),
  }));
}
