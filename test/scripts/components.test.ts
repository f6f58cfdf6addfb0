/**
 * `npm run components` without a download: how it parses apt's output, which version it chooses,
 * and its table. Installed components are covered by the tests that need them, and the program by
 * test/long/scripts/components.test.ts.
 */
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { test } from 'tap';
import {
  chooseVersion,
  dependenciesOf,
  mirrorOf,
  upstreamOf,
  versionsOf,
} from '../../scripts/components/apt-text.ts';
import { moveInto, unpackedVersion } from '../../scripts/components/suite.ts';
import { namedBy, rowOf, tableText, usesOf, versionIn } from '../../scripts/components/table.ts';
import { type Component, componentTable } from '../support/components.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const execute = promisify(execFile);
const names = [...componentTable.keys()];

/** A paragraph of `apt-get indextargets` with the fields that are read. */
function target(fields: Readonly<Record<string, string>>): string {
  const all = { 'Created-By': 'Packages', Component: 'main', ...fields };
  return Object.entries(all)
    .map(([name, value]) => `${name}: ${value}`)
    .join('\n');
}

test('the mirror is the one that apt uses for Debian itself', async (t) => {
  const updated = { Origin: 'Debian', Label: 'Debian' };
  const cases: [name: string, targets: readonly string[], mirror: string | undefined][] = [
    [
      'beside security updates and another vendor',
      [
        target({ Origin: 'Vendor', Label: 'Vendor', 'Repo-URI': 'https://vendor.example/debian/' }),
        target({
          Origin: 'Debian',
          Label: 'Debian-Security',
          'Repo-URI': 'http://mirror.example/debian-security/',
        }),
        target({ ...updated, 'Repo-URI': 'http://mirror.example/debian/' }),
      ],
      'http://mirror.example/debian/',
    ],
    [
      'under a path with another name',
      [target({ ...updated, 'Repo-URI': 'https://mirror.example/remote-deb/' })],
      'https://mirror.example/remote-deb/',
    ],
    ['not a disc', [target({ ...updated, 'Repo-URI': 'cdrom://Debian/' })], undefined],
    [
      'not lists of something other than packages',
      [
        target({
          ...updated,
          'Created-By': 'Translations',
          'Repo-URI': 'http://mirror.example/debian/',
        }),
      ],
      undefined,
    ],
    ['none on another system', [''], undefined],
  ];
  for (const [name, targets, mirror] of cases)
    t.equal(mirrorOf(targets.join('\n\n')), mirror, name);
});

test('the version that tests need is chosen, otherwise the newest', (t) => {
  const madison = `
     nginx | 1.26.3-3+deb13u2 | http://mirror.example/debian trixie/main amd64 Packages
     nginx | 1.26.3-3+deb13u1 | http://mirror.example/debian trixie/main amd64 Packages
     nginx | 1.22.1-9 | http://mirror.example/debian trixie/main amd64 Packages
     nginx | 1.27.0-1 | http://mirror.example/debian trixie/main Sources
`;
  const versions = versionsOf(madison);
  t.same(versions, ['1.26.3-3+deb13u2', '1.26.3-3+deb13u1', '1.22.1-9']);
  t.equal(chooseVersion(versions, '1.22.1'), '1.22.1-9');
  t.equal(chooseVersion(versions, '1.26.3'), '1.26.3-3+deb13u2', 'the newest build');
  t.equal(chooseVersion(versions, '1.20.0'), '1.26.3-3+deb13u2', 'none has it: the newest');
  t.equal(chooseVersion(versions), '1.26.3-3+deb13u2', 'any version will do');
  t.equal(chooseVersion(versionsOf('\n'), '1.26.3'), undefined);
  t.end();
});

test("a package's version contains the version of its program", async (t) => {
  const cases: [version: string, upstream: string][] = [
    ['2.15.1-1', '2.15.1'],
    ['2.10.27-1+b2', '2.10.27'],
    ['3.5.3+ds1-6', '3.5.3'],
    ['1:7.2+dfsg-7+deb12u18', '7.2'],
    ['2:1.19~1', '1.19~1'],
    ['1.0-rc1-2', '1.0-rc1'],
  ];
  for (const [version, upstream] of cases) t.equal(upstreamOf(version), upstream, version);
});

test('dependencies are real packages, not virtual ones', (t) => {
  const depends = `linux-image-cloud-amd64
  Depends: linux-image-6.1.0-50-cloud-amd64
 |Depends: <virtual>
  Recommends: other
`;
  t.same(dependenciesOf(depends), ['linux-image-6.1.0-50-cloud-amd64']);
  t.end();
});

test('a row shows whether a component is present, its version, and whether the tests accept it', (t) => {
  const probe = {
    versionText: () => 'server: v2.10.27\nmore 9.9',
    packageVersion: () => '7.0-1',
  };
  const component = (found: string | undefined, candidates: readonly string[]): Component => ({
    source: { kind: 'none' },
    find: () => found,
    candidates: () => candidates,
    howToGet: 'install it',
  });
  const row = (one: Component, text?: string) =>
    rowOf('curl', one, [], text === undefined ? probe : { ...probe, versionText: () => text });
  const here = component('/a', ['/b', '/a']);
  t.match(row(here), { state: 'here', path: '/a', version: '2.10.27' });
  t.match(row(here, 'Usage: of 1.2.3?\n'), { version: '1.2.3' });
  t.match(row(here, 'no number\n4.5.6'), { version: '7.0-1' }, 'that of its package');
  const other = row(component(undefined, ['/b']));
  t.match(other, { state: 'other version', path: '/b', version: '2.10.27' });
  const missing = row(component(undefined, []));
  t.same(missing, { name: 'curl', state: 'missing', neededBy: [], howToGet: 'install it' });
  t.equal(versionIn('QEMU emulator version 7.2.22 (Debian 1:7.2)'), '7.2.22');

  const needed = ['test/a/one.test.ts', 'test/a/two.test.ts', 'test/b/one.test.ts'];
  t.equal(
    tableText([{ ...row(here), neededBy: needed }, { ...other, neededBy: needed }, missing], '/'),
    `here     curl  2.10.27  /a
         needed by test/a (2), test/b
other    curl  2.10.27  /b: tests that need curl are skipped
         needed by test/a (2), test/b
         to get it: install it
missing  curl
         needed by no test
         to get it: install it`,
  );
  t.end();
});

test('an argument selects a component, or a program in all its versions', async (t) => {
  t.same(namedBy([], names), names);
  t.same(namedBy(['nats-server'], names), ['nats-server 2.10.27', 'nats-server 2.15.1']);
  t.same(namedBy(['curl', 'caddy 2.6.2', 'curl'], names), ['caddy 2.6.2', 'curl']);
  t.throws(
    () => namedBy(['nats'], names),
    /No component is called nats\. Use one of: nats-server /,
  );
});

test('every component is needed by a test or a benchmark that names it', async (t) => {
  const uses = usesOf(root, names);
  const unused = names.filter((name) => uses.get(name)?.length === 0);
  t.same(unused, []);
  t.ok(uses.get('vm-lab')?.includes('test/long/telemetry/collectors/lab.test.ts'));
  const other = 'test/identity/auth-attacks.test.ts';
  t.notOk(uses.get('script')?.includes(other), 'the same word in a browser policy');
});

test('an unpacked folder appears only when it is complete, even if it replaces another', async (t) => {
  const folder = t.testdir({ new: { '.complete': '2.0-1\n' }, old: { half: '' } });
  t.equal(unpackedVersion(join(folder, 'old')), undefined);
  moveInto(join(folder, 'new'), join(folder, 'old'));
  t.equal(unpackedVersion(join(folder, 'old')), '2.0-1');
  mkdirSync(join(folder, 'newer'));
  writeFileSync(join(folder, 'newer/.complete'), '3.0-1\n');
  moveInto(join(folder, 'newer'), join(folder, 'not/yet'));
  t.equal(unpackedVersion(join(folder, 'not/yet')), '3.0-1');
});

test('tests reach the shared folder only as a component, so a clone skips them', async (t) => {
  const { stdout } = await execute('git', ['ls-files', '-z', '*.ts', '*.mjs', '*.js'], {
    cwd: root,
  });
  const files = stdout
    .split('\0')
    .filter((file) => file !== '' && !ALLOWED.has(file) && existsSync(join(root, file)));
  const texts = files.map((file) => ({ file, text: readFileSync(join(root, file), 'utf8') }));
  const named = texts.filter(({ text }) => /(\.\.\/)+shared\b|\bsharedFolder\b/.test(text));
  t.same(named, [], 'they contain no path');
  const undeclared = texts.filter(
    ({ file, text }) =>
      file.endsWith('.test.ts') &&
      text.includes("componentPath('shared folder')") &&
      !text.includes("needs('shared folder')"),
  );
  t.same(undeclared, [], 'they declare it');
});

/** The table itself, and this test. */
const ALLOWED = new Set(['test/support/components.ts', 'test/scripts/components.test.ts']);
