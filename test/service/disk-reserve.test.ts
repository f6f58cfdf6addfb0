/**
 * A whole service whose free disk space is below the reserve from the start: callers change
 * nothing, keys can still be revoked, and `/readyz` names the part that is short of space.
 */
import { randomUUID } from 'node:crypto';
import { test } from 'tap';
import { dataFolder } from '../support/places.ts';
import { startService } from '../support/service-in-process.ts';

const ALERT = 'monitoring.v1.AlertService';
/** Largest possible reserve, 1 TiB: more than a test machine has free. */
const RESERVE_MIB = '1048576';

test('LIMIT-26: below the disk reserve changes are refused, and readings are still stored', async (t) => {
  const service = await startService(t, dataFolder(t), { SVC_DISK_RESERVE: RESERVE_MIB });
  const { demo } = service;
  const destination = { displayName: 'x', webhook: { url: 'https://hooks.example.com/x' } };
  const made = await service.call(`${ALERT}/CreateDestination`, {
    projectName: demo.projectName,
    requestId: randomUUID(),
    destination,
  });
  t.equal(made.status, 429, JSON.stringify(made.body));
  t.equal(made.headers.get('retry-after'), '60');
  t.match(made.body, {
    code: 'resource_exhausted',
    message: /disk of the service is nearly full/,
    details: [{ debug: { reason: 'TOO_MANY_REQUESTS', metadata: { limit: 'diskReserve' } } }],
  });
  const batch = { projectName: demo.projectName, batchId: randomUUID() };
  const row = {
    vmName: 'vm-1',
    observedUnixMs: String(Date.now()),
    state: 'RUNNING',
    values: [{ series: 'svc_vm_cpu_utilization_pct', value: 1 }],
  };
  const write = { ...batch, rows: [row] };
  const written = await service.call(
    'ingest.v1.IngestService/WriteSamples',
    write,
    demo.collectorKey,
  );
  t.match(written, { status: 200, body: { accepted: '1' } });
  const ready = await service.get('/readyz');
  t.equal(ready.status, 200, 'the service continues');
  const { parts } = JSON.parse(ready.text);
  t.match(
    parts.find(({ name }: { name: string }) => name === 'disk'),
    { state: 'degraded' },
  );
});
