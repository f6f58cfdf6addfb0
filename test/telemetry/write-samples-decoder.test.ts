/** Memory of the fast decoder for senders, before their rows are checked. */
import { Buffer } from 'node:buffer';
import { test } from 'tap';
import { WriteSamplesDecoder } from '../../src/telemetry/api/write-samples-decoder.ts';
import { encoded, type RequestInit } from '../support/write-requests.ts';

const MIB = 2 ** 20;
const NOTHING = { projects: 0, vms: 0, layouts: 0, bytes: 0 };

const bytesOf = (request: RequestInit) => Buffer.from(encoded(request));
/** A caller that may write everywhere, into projects that exist or not. */
const anyProject = (projectName: string) => projectName.slice('projects/'.length);
const onlyDemo = (projectName: string) => (projectName === 'projects/demo' ? 'demo' : undefined);

test('ever new series and VMs are cached within a bound', async (t) => {
  const decoder = new WriteSamplesDecoder();
  let most = 0;
  for (let i = 0; i < 200; i++) {
    const [b, c] = ['y'.repeat(180), 'z'.repeat(180)];
    const values = Array.from({ length: 300 }, (_, n) => ({
      series: 'vm_x',
      labels: { a: `${i} ${n}`, b, c },
      value: 1,
    }));
    const vmNames = Array.from({ length: 3 }, (_, n) => `projects/p${i}/vms/vm-${i}-${n}`);
    const rows = vmNames.map((vmName, n) => ({
      vmName,
      observedUnixMs: 1n,
      values: values.map((value) => ({ ...value, labels: { ...value.labels, d: `${n}` } })),
    }));
    const decoded = decoder.decode(bytesOf({ projectName: `projects/p${i}`, rows }), anyProject);
    t.equal(decoded?.rows[2]?.series.length, 300);
    most = Math.max(most, decoder.remembered.bytes);
  }
  t.ok(most < 66 * MIB && most > 60 * MIB, `at most ${most} bytes of layouts`);
  t.ok(decoder.remembered.vms < 3 * 200, `${decoder.remembered.vms} VMs`);
});

test('nothing is cached for a project that the caller may not write into', async (t) => {
  const decoder = new WriteSamplesDecoder();
  const values = [{ series: 'svc_vm_load1', value: 1 }];
  for (const projectName of ['projects/other', `projects/${'x'.repeat(MIB / 2)}`, '']) {
    const vmName = `${projectName}/vms/vm-1`;
    for (const rows of [[{ vmName, values }], [{ vmName: 'vm-1', values }], [{}], []]) {
      t.equal(decoder.decode(bytesOf({ projectName, rows }), onlyDemo), undefined);
    }
  }
  t.same(decoder.remembered, NOTHING);
});

test('the name of a VM that is too long is not cached', async (t) => {
  const decoder = new WriteSamplesDecoder();
  const long = 'x'.repeat(MIB / 2);
  for (const vmName of [
    'x'.repeat(129),
    `projects/demo/vms/${'x'.repeat(129)}`,
    `${long}/vms/vm-1`,
  ]) {
    const request = bytesOf({ projectName: 'projects/demo', rows: [{ vmName }] });
    t.equal(decoder.decode(request, onlyDemo), undefined);
  }
  t.same(decoder.remembered, { ...NOTHING, projects: 1 });
});

test('projects count towards the bound of names', async (t) => {
  const decoder = new WriteSamplesDecoder();
  let most = 0;
  for (let i = 0; i <= 100_010; i++) {
    const request = { projectName: `projects/${i}`, rows: [{ vmName: 'vm-1' }] };
    decoder.decode(bytesOf(request), anyProject);
    most = Math.max(most, decoder.remembered.projects);
  }
  t.ok(most > 99_990 && most < 100_010, `at most ${most} projects with a VM each`);
  t.ok(decoder.remembered.projects < 20, 'then it starts empty');
});

test('rows are read alike whatever rows came before them', async (t) => {
  const decoder = new WriteSamplesDecoder();
  const row = (vmName: string, bootId = '', n = 1) => ({
    vmName,
    bootId,
    observedUnixMs: BigInt(n),
    values: [{ series: 'svc_vm_load1', value: n }],
  });
  const [a, b, c] = [row('vm-1', 'boot-a'), row('vm-10', 'boot-b', 2), row('vm-2', 'boot-c', 3)];
  const full = 'projects/demo/vms/vm-1';
  const long = 'x'.repeat(200);
  const lists = [
    ...[[a, b, c], [a, b, c], [a, c, b], [c], [b, b, a, a], [row('vm-1')], [a, b, c]],
    ...[
      [row(full, 'boot-a'), b],
      [row('vm-1', 'boot-aa'), b],
      [row('vm-1', 'b'), c],
      [a, b, c],
    ],
    ...[[row('vm-1', long), b], [row('vm-1', long), b], [row('vm-1', 'b\u00e9')], [a, b, c]],
    ...[[row('vm-1', 'b\u00e9'), b], [row('other/vms/vm-1'), a], [], [a, b, c]],
  ];
  for (const [i, rows] of lists.entries()) {
    const request = bytesOf({ projectName: 'projects/demo', rows });
    const alone = new WriteSamplesDecoder().decode(request, onlyDemo);
    t.same(decoder.decode(request, onlyDemo), alone, `request ${i}`);
  }
  const text = Buffer.from('vm-\u00e9');
  const bytes = Buffer.from([0x76, 0x6d, 0x2d, 0xe9]);
  for (const boot of [text, bytes]) {
    const fields = Buffer.concat([field(0x0a, 'vm-1'), field(0x1a, boot)]);
    const request = Buffer.concat([field(0x0a, 'projects/demo'), field(0x1a, fields)]);
    const isText = boot === text;
    t.match(
      decoder.decode(request, onlyDemo),
      isText ? { rows: [{ boot: 'vm-\u00e9' }] } : undefined,
    );
  }
});

test('the same bytes split into values at other positions are other series', async (t) => {
  const decoder = new WriteSamplesDecoder();
  const [seriesA, seriesB] = [field(0x0a, 'a'), field(0x0a, 'b')];
  const label = field(0x12, Buffer.concat([field(0x0a, 'device'), field(0x12, 'vda')]));
  const cuts = [
    { prefixes: [seriesA, Buffer.concat([label, seriesB])], keys: ['a', 'b{device="vda"}'] },
    { prefixes: [Buffer.concat([seriesA, label]), seriesB], keys: ['a{device="vda"}', 'b'] },
  ];
  for (const { prefixes, keys } of [...cuts, ...cuts]) {
    const values = prefixes.map((prefix) => field(0x42, prefix));
    const row = field(0x1a, Buffer.concat([field(0x0a, 'vm-1'), ...values]));
    const request = Buffer.concat([field(0x0a, 'projects/demo'), row]);
    t.same(decoder.decode(request, onlyDemo)?.rows[0]?.series, keys);
  }
  t.equal(decoder.remembered.layouts, 2);
});

/** A length-delimited field of less than 128 bytes. */
function field(tag: number, content: string | Buffer): Buffer {
  const bytes = Buffer.from(content);
  return Buffer.concat([Buffer.from([tag, bytes.length]), bytes]);
}
