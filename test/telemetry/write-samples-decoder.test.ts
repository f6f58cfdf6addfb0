/** Memory of the fast decoder for senders, before anything that they send is checked. */
import { Buffer } from 'node:buffer';
import { create, toBinary } from '@bufbuild/protobuf';
import t from 'tap';
import { WriteSamplesRequestSchema } from '../../src/gen/svc/ingest/v1/ingest_pb.ts';
import { WriteSamplesDecoder } from '../../src/telemetry/api/write-samples-decoder.ts';

const MIB = 2 ** 20;

t.test('ever new series and VMs are remembered within a bound', (t) => {
  const decoder = new WriteSamplesDecoder();
  let most = 0;
  for (let i = 0; i < 200; i++) {
    const [b, c] = ['y'.repeat(180), 'z'.repeat(180)];
    const values = Array.from({ length: 1_000 }, (_, n) => ({
      ...{ series: 'svc_vm_x', labels: { a: `${i} ${n}`, b, c }, value: 1 },
    }));
    const request = create(WriteSamplesRequestSchema, {
      projectName: `projects/p${i}`,
      rows: [{ vmName: `projects/p${i}/vms/vm-${i}`, observedUnixMs: 1n, values }],
    });
    const decoded = decoder.decode(Buffer.from(toBinary(WriteSamplesRequestSchema, request)));
    t.equal(decoded?.rows[0]?.series.length, 1_000);
    most = Math.max(most, decoder.remembered.bytes);
  }
  t.ok(most < 66 * MIB && most > 60 * MIB, `at most ${most} bytes of layouts`);
  t.ok(decoder.remembered.vms < 200, `${decoder.remembered.vms} VMs`);
  t.end();
});
