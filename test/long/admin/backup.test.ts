/**
 * `svc backup` and `svc restore` with a program under load, and the cases in which a restore is
 * rejected: a truncated backup, changed files, another master key, a non-empty folder.
 */

import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test, test } from 'tap';
import { MANIFEST_FILE } from '../../../src/admin/backup/manifest.ts';
import {
  faultSettings,
  listAll,
  ruleRequest,
  saveRule,
  writeReadings,
} from '../../e2e/fault-injection.ts';
import { needs } from '../../support/components.ts';
import {
  dataFolder,
  type Program,
  runInProcess,
  startProgram,
  until,
} from '../../support/program.ts';
import { startService } from '../../support/service-in-process.ts';
import { checkStored, startStorm } from '../../support/write-storm.ts';

t.setTimeout(840_000);

const SAVE_RULE = 'monitoring.v1.AlertService/SaveAlertRule';
const vms = Array.from({ length: 40 }, (_, i) => `vm-${i}`);

interface Incident {
  readonly name: string;
  readonly vmName: string;
}

const incidentsOf = (program: Program) => listAll<Incident>(program, 'ListIncidents', 'incidents');
const namesOf = (incidents: readonly Incident[]) => incidents.map(({ name }) => name).sort();

/** A small data folder with secrets, a rule and samples, its running service, and its backup. */
async function backedUp(t: Test) {
  const root = dataFolder(t);
  const [data, backup] = [join(root, 'data'), join(root, 'backup')];
  const program = await startService(t, data);
  await saveRule(program, []);
  await writeReadings(program, vms.slice(0, 3), 1);
  const made = await runInProcess(['backup', backup, '--data', data]);
  if (made.code !== 0) throw new Error(made.text);
  const restore = (to: string, more: Record<string, string> = {}) =>
    runInProcess(['restore', backup, '--data', join(root, to)], more);
  return { root, data, backup, program, restore };
}

test('DUR-18: a backup under load contains everything acknowledged before it', async (t) => {
  const root = dataFolder(t);
  const [data, backup, other] = ['data', 'backup', 'other'].map((name) => join(root, name)) as [
    string,
    string,
    string,
  ];
  const program = await startService(t, data);
  const storms = (['json', 'binary'] as const).map((format) =>
    startStorm(program.demo, { name: format, format, senders: 3 }),
  );
  const rule = await saveRule(program, []);
  const request = ruleRequest(program, [], { enabled: false });
  const saved = await program.call(SAVE_RULE, request);
  await writeReadings(program, vms, 11);
  const before = await until('an incident of each VM', async () => {
    const incidents = await incidentsOf(program);
    return incidents.length >= vms.length ? incidents : undefined;
  });
  await until('rows', () => (storms.every((storm) => storm.rows() > 500) ? true : undefined));
  const acknowledged = storms.map(
    (storm) => new Map([...storm.acknowledged].map(([vm, rows]) => [vm, new Set(rows)])),
  );
  const made = await runInProcess(['backup', backup, '--data', data, '--json']);
  t.equal(made.code, 0, made.text);
  const manifest = JSON.parse(made.stdout);
  t.equal(manifest.form, 'embedded');
  t.notOk(readdirSync(backup).includes('master.key'), 'the master key is not in the backup');
  const later = await program.call(SAVE_RULE, ruleRequest(program, [], { enabled: false }));
  await program.kill();
  await Promise.all(storms.map((storm) => storm.stop()));

  mkdirSync(other, { mode: 0o700 });
  cpSync(join(data, 'master.key'), join(other, 'master.key'));
  const restored = await runInProcess(['restore', backup, '--data', other]);
  t.equal(restored.code, 0, restored.text);
  t.match(restored.stdout, /svc admin restored --data/, 'the output names the next step');
  cpSync(join(data, 'demo.json'), join(other, 'demo.json'));
  const again = await startService(t, other);
  for (const rows of acknowledged) await checkStored(t, again.demo, rows);
  t.same(namesOf(await incidentsOf(again)).slice(0, before.length), namesOf(before));
  t.equal(again.demo.apiKey, program.demo.apiKey, 'the keys work');
  const rules = await listAll<{ name: string }>(again, 'ListAlertRules', 'rules');
  const [second, third] = [saved, later].map(({ body }) => String(body.name));
  t.same(rules.map(({ name }) => name).sort(), [rule, second].sort(), 'state as of the backup');
  t.notOk(rules.some(({ name }) => name === third));
  const resent = await again.call(SAVE_RULE, request);
  t.equal(resent.body.name, saved.body.name, 'an answered request is not applied again');
  t.equal((await listAll(again, 'ListAlertRules', 'rules')).length, rules.length);
  await again.stop();
  for (const check of [
    ['audit', 'verify'],
    ['history', 'check'],
  ]) {
    const { code, text } = await runInProcess([...check, '--data', other]);
    t.equal(code, 0, text);
  }
});

test('DUR-18: a service killed during its backup leaves a complete backup or none', async (t) => {
  const root = dataFolder(t);
  const [data, backup] = [join(root, 'data'), join(root, 'backup')];
  const program = await startProgram(t, data, faultSettings);
  const made = runInProcess(['backup', backup, '--data', data]);
  await until('the first file', () => {
    try {
      return readdirSync(backup).length > 0 ? true : undefined;
    } catch {
      return undefined;
    }
  });
  await program.kill();
  const { code } = await made;
  const { text, code: restored } = await runInProcess([
    'restore',
    backup,
    '--data',
    join(root, 'other'),
  ]);
  const isWhole = readdirSync(backup).includes(MANIFEST_FILE);
  t.equal(restored, isWhole ? 0 : 1, text);
  t.ok(isWhole || code === 1, 'an interrupted backup does not succeed');
  rmSync(join(backup, MANIFEST_FILE), { force: true });
  const cut = await runInProcess(['restore', backup, '--data', join(root, 'third')]);
  t.match(cut, { code: 1, text: /contains no finished backup, because it has no manifest\.json/ });
  t.throws(() => readdirSync(join(root, 'third')), 'nothing was written');
});

test('DUR-18: invalid backups and restores are rejected', async (t) => {
  const { root, data, backup, program, restore } = await backedUp(t);
  const untouched = (folder: string) =>
    t.throws(() => readdirSync(join(root, folder)), `${folder} is empty`);

  await t.test(
    'a restore rejects a file with one changed byte, and a truncated file',
    async (t) => {
      for (const [name, change] of [
        ['control.db', (bytes: Buffer) => bytes.fill(bytes[5000] === 1 ? 2 : 1, 5000, 5001)],
        ['events.db', (bytes: Buffer) => bytes.subarray(0, bytes.length - 1)],
      ] as const) {
        const path = join(backup, name);
        const whole = readFileSync(path);
        writeFileSync(path, change(Buffer.from(whole)));
        const refused = await restore('other');
        t.match(refused, { code: 1, text: new RegExp(`${name} is damaged`) });
        writeFileSync(path, whole);
        untouched('other');
      }
    },
  );

  await t.test('a restore rejects a missing file', async (t) => {
    const path = join(backup, 'secrets.db');
    const whole = readFileSync(path);
    rmSync(path);
    t.match(await restore('other'), { code: 1, text: /secrets\.db is missing/ });
    writeFileSync(path, whole);
    untouched('other');
  });

  await t.test('a restore rejects a newer format and a newer machine', async (t) => {
    const path = join(backup, MANIFEST_FILE);
    const text = readFileSync(path, 'utf8');
    // Older programs wrote no digest.
    const { sha256: _, ...manifest } = JSON.parse(text);
    const cases = [
      [{ ...manifest, format: 2 }, /has format 2, but this program reads up to 1/],
      [{ ...manifest, commitFormat: 9 }, /newer than this program \(commits of format 9\)/],
      [
        { ...manifest, machineVersions: { ...manifest.machineVersions, delivery: 99 } },
        /newer than this program \(machine delivery 99\)/,
      ],
      [
        { ...manifest, files: [{ name: '../x.db', sha256: '' }] },
        /is not the manifest of a backup/,
      ],
    ] as const;
    for (const [changed, expected] of cases) {
      writeFileSync(path, JSON.stringify(changed));
      t.match(await restore('other'), { code: 1, text: expected });
    }
    writeFileSync(path, text);
    untouched('other');
  });

  await t.test('a restore rejects a master key other than the backup’s', async (t) => {
    const file = join(root, 'another.key');
    writeFileSync(file, `${Buffer.alloc(32, 7).toString('base64')}\n`, { mode: 0o600 });
    const refused = await restore('other', { SVC_MASTER_KEY_FILE: file });
    t.match(refused, { code: 1, text: /sealed under master key [0-9a-f]{16}, and .* is [0-9a-f]/ });
    untouched('other');
  });

  await t.test('a restore rejects a non-empty folder, and one in use by a service', async (t) => {
    t.match(await restore('data'), { code: 1, text: /is not empty/ });
    const found = join(root, 'found');
    mkdirSync(found);
    writeFileSync(join(found, 'notes.txt'), 'mine');
    t.match(await restore('found'), { code: 1, text: /it contains notes\.txt/ });
    t.same(readdirSync(found), ['notes.txt']);
  });

  await t.test(
    'no service starts after an interrupted restore until a restore completes',
    async (t) => {
      const other = join(root, 'cut');
      mkdirSync(other, { mode: 0o700 });
      cpSync(join(data, 'master.key'), join(other, 'master.key'));
      writeFileSync(join(other, 'restore.unfinished'), '');
      writeFileSync(join(other, 'control.db'), 'half of it');
      writeFileSync(join(other, 'events.db.restoring'), 'half of it');
      const refused = await runInProcess(['serve'], { SVC_DATA: other, SVC_LISTEN: '127.0.0.1:0' });
      t.match(refused, { code: 1, text: /A restore into .* has not ended/ });
      t.equal((await restore('cut')).code, 0);
      const program = await startService(t, other);
      t.equal(await program.stop(), 0);
    },
  );

  const into = (folder: string) => runInProcess(['backup', folder, '--data', data]);

  await t.test('a backup without a service, or into a non-empty folder, is rejected', async (t) => {
    const none = await runInProcess(['backup', join(root, 'more'), '--data', join(root, 'none')]);
    t.match(none, { code: 1, text: /No service is running on/ });
    t.match(await into(data), { code: 1, text: /Name a folder that is empty or does not exist/ });
    t.match(await into(backup), { code: 1, text: /contains a backup already/ });
    writeFileSync(join(root, 'file'), '');
    t.match(await into(join(root, 'file')), { code: 1, text: /was not made \((EEXIST|ENOTDIR)/ });
    // A place where even root cannot create a folder.
    const denied = await into('/sys/kernel/svc-backup');
    t.match(denied, { code: 1, text: /the service writes it as its own user.*below its data/ });
    const below = await into(join(data, 'backups', 'one'));
    t.equal(below.code, 0, below.text);
  });

  await t.test('a backup onto a full disk leaves nothing', needs('tmpfs mounts'), async (t) => {
    const disk = join(root, 'disk');
    mkdirSync(disk);
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'svc-test', disk]);
    t.teardown(() => execFileSync('umount', [disk]));
    const full = /The disk of .* is full. Nothing of the backup is left/;
    t.match(await into(join(disk, 'backup')), { code: 1, text: full });
    t.same(readdirSync(disk), []);
    await saveRule(program, []);
  });

  await t.test('a restore without the key succeeds, and says where the key belongs', async (t) => {
    const { code, stdout } = await restore('keyless', {});
    t.equal(code, 0);
    t.match(stdout, /1\. put the master key [0-9a-f]{16} at .*master\.key/);
  });
});
