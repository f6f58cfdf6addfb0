/** Entries of the sample log fit into one message of any stream, whatever their rows hold. */
import { Buffer } from 'node:buffer';
import { test } from 'tap';
import { PartitionWriter, pastEntries } from '../../actors/telemetry/sample-log.ts';
import type { IngestRow } from '../../actors/vms/sent-row.ts';
import { seededRandom } from '../../streams/platform/random.ts';
import { seriesKey } from '../../streams/telemetry/samples/batch.ts';
import { cpuRow, openAlertingWorld, PROJECT, START_MS } from '../support/alerting-on-host.ts';

/** Smallest maximum message of a NATS server, bytes. */
const MESSAGE_BYTES = 512 * 1024;
const random = seededRandom(7);
/** This many characters that hardly compress. */
const noise = (length: number) =>
  Buffer.from(random.bytes(length)).toString('base64').slice(0, length);

/** A row with about as many bytes of series as the API accepts. */
function longRow(vm: string): IngestRow {
  const series = Array.from({ length: 95 }, () =>
    seriesKey('vm_x', Object.fromEntries([...'abcdefgh'].map((name) => [name, noise(200)]))),
  );
  return { ...cpuRow(vm, START_MS, 1), series, values: series.map((_, i) => i / 3) };
}

/** A row with unique texts and few series. */
function wordyRow(vm: string): IngestRow {
  return { ...cpuRow(vm, START_MS, 1), boot: noise(200), stateReason: noise(200) };
}

test('requests of long, random texts share no entry larger than a message', async (t) => {
  const world = await openAlertingWorld(t);
  const writer = new PartitionWriter(world);
  const sizes: number[] = [];
  world.faults.append = ({ data }) => {
    sizes.push(data.length);
    return undefined;
  };
  const requests = Array.from({ length: 4 }, (_, i) => [
    ...Array.from({ length: 5 }, (_, n) => longRow(`long-${i}-${n}`)),
    ...Array.from({ length: 2_000 }, (_, n) => wordyRow(`wordy-${i}-${n}`)),
  ]);
  const writes = requests.map((rows) => writer.write(3, PROJECT, rows));
  await world.pass(100);
  await Promise.all(writes);
  t.ok(Math.max(...sizes) < MESSAGE_BYTES, `entries of ${sizes.join(', ')} bytes`);
  t.ok(sizes.length < 60, 'and still many rows in each');
  let stored = 0;
  for await (const { entry } of pastEntries(world.stream, { sequence: 1 })) {
    if (entry.kind === 'batch') stored += entry.batch.count;
  }
  t.equal(stored, 4 * 2_005);
});

test('hundreds of VMs with different layouts still share an entry', async (t) => {
  const world = await openAlertingWorld(t);
  const writer = new PartitionWriter(world);
  const names = ['receive_bytes_total', 'transmit_bytes_total', 'receive_packets', 'drops'];
  const rows = Array.from({ length: 1_000 }, (_, i) => {
    const labels = { interface: `vnet${i}`, device: 'vda' };
    const series = names.map((name) => seriesKey(`vm_network_${name}`, labels));
    return { ...cpuRow(`vm-${i}`, START_MS, 1), series, values: series.map((_, n) => n) };
  });
  await writer.write(3, PROJECT, rows);
  const counts: number[] = [];
  for await (const { entry } of pastEntries(world.stream, { sequence: 1 })) {
    if (entry.kind === 'batch') counts.push(entry.batch.count);
  }
  t.ok(counts.length <= 3, `${counts}`);
});
