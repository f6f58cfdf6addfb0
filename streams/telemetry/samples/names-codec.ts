/**
 * Bytes of a batch's dictionaries: the VMs, texts and series that its rows refer to by number.
 * Well-known names of series and labels are numbers themselves, because a row has a dozen of them.
 */
import type { Layout, SampleBatch, VmRef } from './batch.ts';
import { type ByteReader, malformed } from './byte-reader.ts';
import type { ByteWriter } from './byte-writer.ts';
import { splitSeriesKey } from './series-key.ts';

/** What a batch refers to by number. */
export type Names = Pick<SampleBatch, 'vms' | 'strings' | 'layouts'>;

/** Appends the batch's dictionaries: VMs, texts, layouts. */
export function writeNames(writer: ByteWriter, batch: Names): void {
  const projects = [...new Set(batch.vms.map((ref) => ref.project))];
  const projectIndex = new Map(projects.map((project, i) => [project, i]));
  writer.varint(projects.length);
  for (const project of projects) writer.text(project);
  writer.varint(batch.vms.length);
  for (const ref of batch.vms) {
    writer.varint(projectIndex.get(ref.project) ?? 0);
    writer.text(ref.vm);
  }
  writer.varint(batch.strings.length - 1);
  for (const text of batch.strings.slice(1)) writer.text(text);
  writeLayouts(writer, batch.layouts);
}

/** Reads what `writeNames` wrote. Throws `DamagedBytes`. */
export function readNames(reader: ByteReader): Names {
  const vms = readVms(reader);
  const strings = [''];
  for (let left = reader.count(1); left > 0; left--) strings.push(reader.text());
  return { vms, strings, layouts: readLayouts(reader) };
}

/** A series key is a name (a number when well known) and labels (a number when seen before). */
function writeLayouts(writer: ByteWriter, layouts: readonly Layout[]): void {
  const seenLabels = new Map<string, number>([['', 1]]);
  writer.varint(layouts.length);
  for (const layout of layouts) {
    writer.varint(layout.series.length);
    for (const key of layout.series) {
      const { name, labels } = splitSeriesKey(key);
      const known = knownNames.get(name) ?? 0;
      writer.varint(known);
      if (known === 0) writer.text(name);
      const seen = seenLabels.get(labels) ?? 0;
      writer.varint(seen);
      if (seen > 0) continue;
      writeLabels(writer, labels);
      seenLabels.set(labels, seenLabels.size + 1);
    }
  }
}

/** Labels with known names as pairs of a number and a value; any others as they are. */
function writeLabels(writer: ByteWriter, labels: string): void {
  const pairs = labels.slice(1, -1).split(',').map(knownPair);
  const known = pairs.flatMap((pair) => pair ?? []);
  if (known.length < pairs.length || !/^{.*}$/s.test(labels)) {
    writer.varint(0);
    writer.text(labels);
    return;
  }
  writer.varint(known.length);
  for (const { name, value } of known) {
    writer.varint(name);
    writer.text(value);
  }
}

function knownPair(pair: string): { name: number; value: string } | undefined {
  const equals = pair.indexOf('="');
  const name = KNOWN_LABEL_NAMES.indexOf(pair.slice(0, equals));
  if (equals < 0 || name < 0 || !pair.endsWith('"') || pair.length < equals + 3) return undefined;
  return { name, value: pair.slice(equals + 2, -1) };
}

function readLabels(reader: ByteReader): string {
  const count = reader.count(2);
  if (count === 0) return reader.text();
  const pairs: string[] = [];
  for (let left = count; left > 0; left--) {
    const name = KNOWN_LABEL_NAMES[reader.varint()];
    if (name === undefined) throw malformed('unknown name of a label');
    pairs.push(`${name}="${reader.text()}"`);
  }
  return `{${pairs.join(',')}}`;
}

function readVms(reader: ByteReader): VmRef[] {
  const projects: string[] = [];
  for (let left = reader.count(1); left > 0; left--) projects.push(reader.text());
  const vms: VmRef[] = [];
  for (let left = reader.count(2); left > 0; left--) {
    const project = projects[reader.varint()];
    if (project === undefined) throw malformed('a VM of no project');
    vms.push({ project, vm: reader.text() });
  }
  return vms;
}

function readLayouts(reader: ByteReader): Layout[] {
  const seenLabels = [''];
  const layouts: Layout[] = [];
  for (let left = reader.count(1); left > 0; left--) {
    const series: string[] = [];
    for (let keys = reader.count(2); keys > 0; keys--) {
      const known = reader.varint();
      const name = known === 0 ? reader.text() : KNOWN_SERIES_NAMES[known - 1];
      if (name === undefined) throw malformed('unknown name of a series');
      const seen = reader.varint();
      if (seen === 0) seenLabels.push(readLabels(reader));
      const labels = seenLabels[seen === 0 ? seenLabels.length - 1 : seen - 1];
      if (labels === undefined) throw malformed('unknown labels of a series');
      series.push(name + labels);
    }
    layouts.push({ series });
  }
  return layouts;
}

/** Names of labels, the position being what is stored. */
const KNOWN_LABEL_NAMES: readonly string[] = ['device', 'interface', 'mountpoint', 'fstype'];

/** Names of series, the position being what is stored. */
const KNOWN_SERIES_NAMES: readonly string[] = [
  'svc_vm_cpu_seconds_total',
  'svc_vm_vcpus',
  'svc_vm_cpu_utilization_pct',
  'svc_vm_memory_total_bytes',
  'svc_vm_memory_free_bytes',
  'svc_vm_memory_used_bytes',
  'svc_vm_disk_read_bytes_total',
  'svc_vm_disk_written_bytes_total',
  'svc_vm_disk_reads_completed_total',
  'svc_vm_disk_writes_completed_total',
  'svc_vm_network_receive_bytes_total',
  'svc_vm_network_transmit_bytes_total',
  'svc_vm_filesystem_size_bytes',
  'svc_vm_filesystem_used_bytes',
  'svc_vm_running',
  'svc_vm_last_observation_timestamp_seconds',
  'svc_vm_load1',
  'svc_vm_memory_available_bytes',
  'svc_vm_swap_used_bytes',
  'svc_vm_processes_running',
];

const knownNames = new Map(KNOWN_SERIES_NAMES.map((name, i) => [name, i + 1]));
