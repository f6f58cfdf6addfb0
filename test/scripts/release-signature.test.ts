/** Signature and provenance of a release, with a key made for the test. */
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Test, test } from 'tap';
import { SIGNER, signerLine, signSums } from '../../scripts/release/signature.ts';
import { provenanceOf, withProvenance } from '../../scripts/supply/provenance.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const hasSsh = spawnSync('ssh-keygen', ['-?']).error === undefined;
const skip = hasSsh ? false : 'ssh-keygen is missing: apt install openssh-client';

function makeKey(folder: string, name: string): string {
  const file = join(folder, name);
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', name, '-f', file]);
  return file;
}

/** A signed release, and the file of keys that may sign it. */
function release(t: Test) {
  const folder = t.testdir({ 'a.deb': 'package' });
  const digest = execFileSync('sha256sum', ['a.deb'], { cwd: folder, encoding: 'utf8' });
  writeFileSync(join(folder, 'SHA256SUMS'), digest);
  const key = makeKey(folder, 'key');
  signSums(folder, key);
  writeFileSync(join(folder, 'release-signers'), signerLine(`${key}.pub`));
  return { folder, key };
}

/** Runs the commands of docs/operations/install.md; true if all succeed. */
function isVerified(folder: string): boolean {
  const page = readFileSync(join(root, 'docs/operations/install.md'), 'utf8');
  const commands = /```sh\n# Verify\n([\s\S]*?)```/.exec(page)?.[1] ?? 'false';
  return spawnSync('sh', ['-ec', commands], { cwd: folder }).status === 0;
}

test('the commands of the guide verify a signed release', { skip }, async (t) => {
  const { folder } = release(t);
  t.ok(isVerified(folder));
  t.match(
    readFileSync(join(folder, 'release-signers'), 'utf8'),
    `${SIGNER} namespaces="svc-release"`,
  );
});

test('a changed file, a changed list and a foreign signature are rejected', { skip }, async (t) => {
  const { folder, key } = release(t);
  const sums = readFileSync(join(folder, 'SHA256SUMS'));
  writeFileSync(join(folder, 'a.deb'), 'replaced');
  t.notOk(isVerified(folder), 'a changed file');
  const digest = execFileSync('sha256sum', ['a.deb'], { cwd: folder });
  writeFileSync(join(folder, 'SHA256SUMS'), digest);
  t.notOk(isVerified(folder), 'a list that fits the changed file');
  const sign = (by: string, namespace: string) =>
    execFileSync('ssh-keygen', ['-Y', 'sign', '-f', by, '-n', namespace], {
      input: digest,
      stdio: ['pipe', 'pipe', 'ignore'],
    });
  writeFileSync(join(folder, 'SHA256SUMS.sig'), sign(makeKey(folder, 'other'), 'svc-release'));
  t.notOk(isVerified(folder), 'another key');
  writeFileSync(join(folder, 'SHA256SUMS.sig'), sign(key, 'git'));
  t.notOk(isVerified(folder), 'the same key for another purpose');
  writeFileSync(join(folder, 'a.deb'), 'package');
  writeFileSync(join(folder, 'SHA256SUMS'), sums);
  signSumsAgain(folder, key);
  t.ok(isVerified(folder));
});

/** ssh-keygen asks before it replaces a signature. */
function signSumsAgain(folder: string, key: string): void {
  execFileSync('rm', [join(folder, 'SHA256SUMS.sig')]);
  signSums(folder, key);
}

test('the bill of materials names commit, builder and command, the same each time', async (t) => {
  const bill = { bomFormat: 'CycloneDX', serialNumber: 'urn:uuid:random', components: [] };
  const command = 'npm ci && npm run release';
  const from = provenanceOf(root, { command });
  t.match(from.commit, /^[0-9a-f]{40}$/);
  t.match(from.builder, /^node 24\.\d+\.\d+ on linux-/);
  t.notMatch(from.repository, /@/, 'no login of the clone');
  const made = withProvenance(bill, from);
  t.same(withProvenance(bill, from), made);
  t.match(
    made.serialNumber,
    /^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/,
  );
  t.match(made.metadata.properties, [
    { name: 'svc:source:commit', value: from.commit },
    { name: 'svc:source:modified', value: /^(true|false)$/ },
    { name: 'svc:build:builder', value: from.builder },
    { name: 'svc:build:command', value: command },
  ]);
  t.match(made.formulation, [{ workflows: [{ uid: from.commit, taskTypes: ['build'] }] }]);
  const named = provenanceOf(root, { command, builder: 'https://ci.example/runs/7' });
  t.equal(named.builder, 'https://ci.example/runs/7');
  t.not(withProvenance(bill, named).serialNumber, made.serialNumber);
});
