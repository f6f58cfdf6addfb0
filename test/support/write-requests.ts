/** Arbitrary `WriteSamples` requests, and bytes that were such a request before being damaged. */
import { create, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import fc from 'fast-check';
import { WriteSamplesRequestSchema } from '../../src/gen/svc/ingest/v1/ingest_pb.ts';
import { anyText } from './any-text.ts';

export type RequestInit = MessageInitShape<typeof WriteSamplesRequestSchema>;

/** Bytes of the message. */
export function encoded(init: RequestInit): Uint8Array {
  return toBinary(WriteSamplesRequestSchema, create(WriteSamplesRequestSchema, init));
}

const text = fc.oneof(
  fc.constantFrom('svc_vm_load1', 'svc_vm_running', 'vm-1', 'device', 'a b', '', '__x', 'project'),
  anyText({ maxLength: 12 }),
  fc.constant('x'.repeat(201)),
);
const number = fc.oneof(
  fc.double(),
  fc.constantFrom(0, -0, Number.NaN, Number.NEGATIVE_INFINITY, 1.5),
);
const int64 = fc.oneof(
  fc.constantFrom(0n, 1_700_000_000_000n, -1n, 2n ** 53n + 1n, 2n ** 49n),
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
);
const value = fc.record(
  {
    series: fc.oneof({ weight: 4, arbitrary: fc.constantFrom('svc_vm_load1', 'b', 'c') }, text),
    labels: fc.dictionary(fc.oneof(fc.constantFrom('device', 'fstype'), text), text, {
      maxKeys: 2,
    }),
    value: number,
  },
  { requiredKeys: [] },
);
const row = fc.record(
  {
    vmName: fc.oneof(
      { weight: 6, arbitrary: fc.constantFrom('vm-1', 'vm-2', 'projects/demo/vms/vm-3') },
      fc.constantFrom('projects/other/vms/vm-1', 'projects/demo/vms/', ''),
      text,
    ),
    observedUnixMs: int64,
    bootId: text,
    sequence: int64,
    vcpus: fc.oneof(fc.nat(64), fc.integer()),
    state: fc.oneof(fc.nat(4), fc.integer()),
    stateReason: text,
    displayName: text,
    values: fc.array(value, { maxLength: 4 }),
  },
  { requiredKeys: ['vmName'] },
);
/** Any request: a valid message, but often not a valid request. */
export const anyRequest = fc.record({
  projectName: fc.constantFrom('projects/demo', 'projects/demo', 'projects/demo', 'demo'),
  batchId: fc.oneof(fc.constant(''), text),
  rows: fc.array(row, { maxLength: 4 }),
});
/**
 * Bytes of such requests, either as encoded or with some bytes removed, changed, duplicated or
 * inserted.
 */
export const damagedOf = (requests: fc.Arbitrary<unknown>): fc.Arbitrary<Buffer> =>
  fc
    .record({
      request: requests,
      at: fc.nat(),
      length: fc.oneof(fc.constant(0), fc.nat(12)),
      put: fc.oneof(fc.constant(new Uint8Array()), fc.uint8Array({ maxLength: 6 })),
    })
    .map(({ request, at, length, put }) => {
      const bytes = Buffer.from(encoded(request as RequestInit));
      const from = bytes.length === 0 ? 0 : at % bytes.length;
      return Buffer.concat([bytes.subarray(0, from), put, bytes.subarray(from + length)]);
    });
