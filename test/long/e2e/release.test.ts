/**
 * The products of `npm run release`, used as by others: the program from its archive, the Debian
 * package in a bare root folder and under systemd, its upgrade, and a program with the SDK alone.
 */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import t, { test } from 'tap';
import packageJson from '../../../package.json' with { type: 'json' };
import { COMPRESSION } from '../../../scripts/release/compression.ts';
import { codeBlock } from '../../support/code-blocks.ts';
import { needs } from '../../support/components.ts';
import { pageAt } from '../../support/named-host.ts';
import { reservePort } from '../../support/places.ts';
import { until } from '../../support/program.ts';
import { startSystemdHost } from '../../support/systemd-host.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const execute = promisify(execFile);
const run = async (program: string, ...args: string[]): Promise<string> =>
  (await execute(program, args, { cwd: root, timeout: 900_000, maxBuffer: 1e8 })).stdout;

t.setTimeout(840_000);

const { version } = packageJson;
const before = '1.1.1';
const folder = mkdtempSync(join(tmpdir(), 'svc-released-'));
t.teardown(() => rmSync(folder, { recursive: true, force: true }));
const arch = process.arch === 'x64' ? 'amd64' : process.arch;
const built = needs('strip', 'dpkg');
if (built.skip === undefined) {
  // Built with private files by default: other users must still be able to run it.
  const umask = process.umask(0o077);
  await run(process.execPath, 'scripts/release.ts', '--folder', folder, '--fast');
  process.umask(umask);
  await repackAs(before);
}

test('checksums match the files beside them', built, async (t) => {
  const named = readFileSync(join(folder, 'SHA256SUMS'), 'utf8').trim().split('\n');
  t.equal(named.length, 4);
  await t.resolves(execute('sha256sum', ['--check', 'SHA256SUMS'], { cwd: folder }));
});

test('a release is compressed by gzip and xz', built, async (t) => {
  // The products of this file are hardly compressed, because that takes most of the time.
  const { archive, debian } = COMPRESSION.release;
  const tree = join(folder, 'small');
  mkdirSync(join(tree, 'DEBIAN'), { recursive: true });
  const control = 'Package: a\nVersion: 1\nArchitecture: all\nMaintainer: a\nDescription: a\n';
  writeFileSync(join(tree, 'DEBIAN/control'), control);
  const [packed, tarred] = [join(folder, 'small.deb'), join(folder, 'small.tgz')];
  await run('dpkg-deb', ...debian, '--build', tree, packed);
  t.match(await run('ar', 't', packed), /^data\.tar\.xz$/m);
  await run('tar', '-I', archive, '-C', folder, '-cf', tarred, 'small');
  t.match(await run('tar', '-tzf', tarred), 'small/DEBIAN/control');
  for (const path of [tree, packed, tarred]) rmSync(path, { recursive: true });
});

test(
  'the program runs from its archive with its own Node, without dev dependencies',
  built,
  async (t) => {
    const name = `svc-${version}-linux-${process.arch}`;
    await run('tar', '-xzf', join(folder, `${name}.tar.gz`), '-C', folder);
    const program = join(folder, name);
    const { stdout } = await execute(join(program, 'bin/svc'), ['version'], { env: {} });
    t.match(stdout, new RegExp(`^svc ${version} \\(node ${process.versions.node}, linux\\)\n$`));
    const packages = readdirSync(join(program, 'node_modules'));
    const dev = Object.keys(packageJson.devDependencies).filter((each) => packages.includes(each));
    t.same(dev, []);
    const served = await serve(t, [join(program, 'bin/svc')], join(folder, 'data'));
    const page = await pageAt(served.url);
    t.match(page.text, '<!doctype html>', 'the dashboard is built');
    await served.stop();
    rmSync(program, { recursive: true });
  },
);

test(
  'the Debian package installs into a bare root, and an upgrade keeps settings and data',
  built,
  async (t) => {
    const bare = join(folder, 'root');
    makeBareRoot(bare, await librariesOf(TOOLS));
    const install = (of: string) =>
      run('dpkg', `--root=${bare}`, '--force-depends', '-i', join(folder, `svc_${of}_${arch}.deb`));
    await install(before);
    const user = /^svc:[^:]*:(\d+):(\d+):/m.exec(readFileSync(join(bare, 'etc/passwd'), 'utf8'));
    t.ok(user, 'it has a user of its own');
    const unit = readFileSync(join(bare, 'usr/lib/systemd/system/svc.service'), 'utf8');
    t.match(unit, /^ExecStart=\/usr\/bin\/svc serve$/m);
    t.match(unit, /^User=svc$/m);
    t.match(unit, /^ProtectSystem=strict$/m);
    // In a mount namespace of its own, but not in a process namespace, so that signals reach the
    // program.
    const inside = ['unshare', '--mount', 'chroot'];
    const command = async (...words: string[]) =>
      run('unshare', '--mount', 'chroot', bare, ...words);
    t.match(await command('/usr/bin/svc', 'version'), `svc ${before} `);
    const env = join(bare, 'etc/svc/svc.env');
    appendFileSync(env, 'SVC_DATACENTER=DC-9\n');
    const asUser = [...inside, `--userspec=${user?.[1]}:${user?.[2]}`, bare];
    const first = await serve(t, [...asUser, '/usr/bin/svc'], '/var/lib/svc');
    await first.stop();
    const kept = readdirSync(join(bare, 'var/lib/svc')).filter((name) => name.endsWith('.db'));
    t.ok(kept.includes('control.db'), 'the user may write its data');
    await install(version);
    t.match(await command('/usr/bin/svc', 'version'), `svc ${version} `);
    t.match(readFileSync(env, 'utf8'), 'SVC_DATACENTER=DC-9', 'settings are unchanged');
    const second = await serve(t, [...asUser, '/usr/bin/svc'], '/var/lib/svc');
    await second.stop();
    await run('dpkg', `--root=${bare}`, '--purge', 'svc');
    t.notOk(existsSync(join(bare, 'usr/lib/svc')));
    t.notOk(existsSync(join(bare, 'etc/svc')));
    t.ok(
      existsSync(join(bare, 'var/lib/svc/control.db')),
      'removing the history is left to the operator',
    );
  },
);

test('systemd runs the units in their sandboxes: the package, the archive, a collector, an agent', {
  ...needs('strip', 'dpkg', 'systemd-nspawn'),
  timeout: 840_000,
}, async (t) => {
  const slow = { timeout: 600_000 };
  const host = await startSystemdHost(t);
  const { run } = host;
  for (const name of readdirSync(folder).filter((name) => /\.(deb|gz)$/.test(name))) {
    cpSync(join(folder, name), join(host.root, 'root', name));
  }
  const ready = (url: string) =>
    until(`${url} is ready`, () =>
      run(`curl --silent --fail --insecure ${url}/readyz`).catch(() => undefined),
    );
  const mainPid = () => run('systemctl show --property MainPID --value svc');
  const journal = (unit: string) => run(`journalctl --unit ${unit} --output cat --no-pager`);

  await t.test(
    'the packaged service is started, killed, reloaded, misconfigured and upgraded',
    slow,
    async (t) => {
      const url = 'http://127.0.0.1:8080';
      await run(`dpkg --install /root/svc_${before}_${arch}.deb`);
      await ready(url);
      await run('svc admin project create shop --owner ann@example.org');
      const first = await mainPid();
      await run(`kill -KILL ${first}`);
      await until('another process', async () => ((await mainPid()) > '1\n' ? true : undefined));
      await ready(url);
      const second = await mainPid();
      t.not(second, first);
      await run('systemctl reload svc');
      t.equal(await mainPid(), second, 'a reload keeps the process');
      await run('echo SVC_RETENTION=x >>/etc/svc/svc.env; systemctl restart svc');
      await until('it has failed', () => run('systemctl is-failed svc').catch(() => undefined));
      t.match(await journal('svc'), /SVC_RETENTION is not a setting/);
      await run('sed --in-place /SVC_RETENTION/d /etc/svc/svc.env');
      await run(`dpkg --install /root/svc_${version}_${arch}.deb`);
      await ready(url);
      const listed = await run('svc version; svc admin project list');
      t.match(listed, `svc ${version} `);
      t.match(listed, 'ann@example.org', 'the project survives all of it');
      t.notMatch(await journal('svc'), /mode is different|is not supported|Unknown key/);
      await t.rejects(
        run('setpriv --reuid nobody --clear-groups svc admin project list'),
        /Only root, and the user that the service runs as/,
      );
      await run('dpkg --purge svc; rm -r /var/lib/svc /var/log/svc');
    },
  );

  await t.test(
    'the archived service has a dynamic user and an encrypted master key',
    slow,
    async (t) => {
      const name = `svc-${version}-linux-${process.arch}`;
      const earlier = name.replace(version, before);
      await run(`tar -xzf /root/${name}.tar.gz -C /opt
mv /opt/${name} /opt/${earlier}
ln -s /opt/${earlier}/bin/svc /usr/local/bin/svc
mkdir -m 700 /etc/svc
head -c 32 /dev/urandom | base64 | systemd-creds encrypt --name=master-key - /etc/svc/master-key.cred
mkdir -p -m 755 /var/lib/svc/tls
cd /var/lib/svc/tls
openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=host -addext subjectAltName=IP:127.0.0.1 -keyout tls.key -out tls.pem
chmod 600 tls.key
cp tls.pem /etc/ssl/svc.pem
cat >/etc/svc/svc.env <<END
SVC_LISTEN=127.0.0.1:8443
SVC_PUBLIC_URL=https://127.0.0.1:8443
SVC_TLS_CERT_FILE=/var/lib/svc/tls/tls.pem
SVC_TLS_KEY_FILE=/var/lib/svc/tls/tls.key
END
mkdir /etc/systemd/system/svc.service.d
cat >/etc/systemd/system/svc.service.d/key.conf <<END
[Service]
LoadCredentialEncrypted=master-key:/etc/svc/master-key.cred
Environment=SVC_MASTER_KEY_FILE=%d/master-key
END
svc install`);
      await ready('https://127.0.0.1:8443');
      t.match(await run('readlink /var/lib/svc'), 'private/svc');
      await t.rejects(run('test -e /var/lib/svc/master.key'), 'the key is not beside the data');
      await run('systemctl reload svc');
      await until('the certificate is read again', async () =>
        (await journal('svc')).includes('The certificate was reloaded') ? true : undefined,
      );
      await run('svc admin project create shop --owner ann@example.org');
      const upgrade = codeBlock('operations/install.md', '# Upgrade of an archive');
      await run(`cd /root\n${upgrade.replaceAll('sudo ', '').replaceAll('VERSION', version)}`);
      await ready('https://127.0.0.1:8443');
      const executed = `readlink /proc/${(await mainPid()).trim()}/exe`;
      t.match(await run(executed), `/opt/${name}/`, 'the new version runs');
      t.match(await run('svc admin project list'), 'ann@example.org');
    },
  );

  await t.test('a collector sends its readings, and loads a new mapping', slow, async (t) => {
    await run(`printf 'source test:///default\\nname * project shop\\n' >/etc/svc-collect.map
export NODE_EXTRA_CA_CERTS=/etc/ssl/svc.pem
key=$(svc admin collector-key create --datacenter DC-1 --project shop 2>/dev/null)
echo "$key" | svc collect enrol --endpoint https://127.0.0.1:8443
mkdir /etc/systemd/system/svc-collect.service.d
printf '[Service]\\nEnvironment=NODE_EXTRA_CA_CERTS=/etc/ssl/svc.pem\\n' >/etc/systemd/system/svc-collect.service.d/ca.conf
svc collect install --mapping /etc/svc-collect.map`);
    await until('a VM has readings', async () =>
      /DC-1 +shop +1 /.test(await run('svc admin collectors')) ? true : undefined,
    );
    await run('echo nonsense >>/etc/svc-collect.map; systemctl reload svc-collect');
    await until('the mapping is rejected', async () =>
      (await journal('svc-collect')).includes('is not a statement') ? true : undefined,
    );
    t.equal(
      await run('systemctl is-active svc-collect'),
      'active\n',
      'it keeps the previous mapping',
    );
  });

  await t.test('an enrolled agent reports from inside the VM', slow, async (t) => {
    await run(`export NODE_EXTRA_CA_CERTS=/etc/ssl/svc.pem SVC_ENDPOINT=https://127.0.0.1:8443 HOME=/root
svc admin login-link ann@example.org | tail -n 1 | svc login --link -
token=$(svc vms enrol guest-1 --project shop --datacenter DC-1 2>/dev/null)
echo "$token" | svc agent enrol
mkdir /etc/systemd/system/svc-agent.service.d
cp /etc/systemd/system/svc-collect.service.d/ca.conf /etc/systemd/system/svc-agent.service.d
svc agent install`);
    await until('its rows have arrived', async () => {
      const { status } = JSON.parse(await run('svc agent status --json').catch(() => '{}'));
      return status?.sentRows > 0 ? true : undefined;
    });
    t.equal(await run('systemctl is-active svc-agent'), 'active\n');
  });
});

test('the SDK is a separate package without server parts or commands', built, async (t) => {
  const consumer = join(folder, 'consumer');
  const installed = join(consumer, 'node_modules/svc-sdk');
  mkdirSync(installed, { recursive: true });
  const archive = join(folder, `svc-sdk-${version}.tgz`);
  await run('tar', '-xzf', archive, '-C', installed, '--strip-components=1');
  const manifest = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'));
  t.match(manifest, {
    name: 'svc-sdk',
    version,
    bin: undefined,
    optionalDependencies: undefined,
  });
  const files = readdirSync(installed, { recursive: true, encoding: 'utf8' });
  t.notOk(files.some((file) => /(^|\/)(actors|sqlite|service|cli|dashboard)\//.test(file)));
  for (const name of await closureOf(Object.keys(manifest.dependencies))) {
    const link = join(consumer, 'node_modules', name);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(join(root, 'node_modules', name), link);
  }
  writeFileSync(join(consumer, 'package.json'), '{"type": "module"}');
  writeFileSync(
    join(consumer, 'main.js'),
    `import { createClient, openSqliteDeduplicator, verifyWebhook } from 'svc-sdk';
const { monitoring } = createClient({ baseUrl: 'http://127.0.0.1:9', token: 'svc_x' });
openSqliteDeduplicator({ path: 'seen.db' }).claim('dlv_1');
process.stdout.write([monitoring.listVMMonitoring, verifyWebhook].map((each) => typeof each).join());`,
  );
  const { stdout } = await execute(process.execPath, ['main.js'], { cwd: consumer });
  t.equal(stdout, 'function,function');
});

/** A program with its dependencies and none of this checkout's other packages. */
async function closureOf(names: readonly string[]): Promise<Set<string>> {
  const found = new Set<string>();
  const open = [...names];
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    if (found.has(name)) continue;
    found.add(name);
    const file = join(root, 'node_modules', name, 'package.json');
    open.push(...Object.keys(JSON.parse(readFileSync(file, 'utf8')).dependencies ?? {}));
  }
  return found;
}

/** Tools that the package's scripts and the program's launcher call. */
const TOOLS = [
  'sh',
  'dirname',
  'readlink',
  'getent',
  'useradd',
  'chgrp',
  'chown',
  'chmod',
  'mkdir',
  'rm',
];

/** Files that the tools and Node need, according to the loader. */
async function librariesOf(tools: readonly string[]): Promise<Set<string>> {
  const files = new Set<string>();
  for (const tool of tools) {
    const path = (await run('sh', '-c', `readlink -f "$(command -v ${tool})"`)).trim();
    files.add(path);
    for (const [library] of (await run('ldd', path)).matchAll(/\/\S+(?= \()/g)) files.add(library);
  }
  for (const [library] of (await run('ldd', process.execPath)).matchAll(/\/\S+(?= \()/g)) {
    files.add(library);
  }
  return files;
}

/** A root folder with a shell, a few tools, their libraries, and dpkg's empty database. */
function makeBareRoot(bare: string, files: ReadonlySet<string>): void {
  for (const folder of [
    'usr/bin',
    'usr/sbin',
    'usr/lib',
    'usr/lib64',
    'etc',
    'tmp',
    'proc',
    'dev',
  ]) {
    mkdirSync(join(bare, folder), { recursive: true });
  }
  for (const name of ['bin', 'sbin', 'lib', 'lib64']) symlinkSync(`usr/${name}`, join(bare, name));
  mkdirSync(join(bare, 'var/lib/dpkg/info'), { recursive: true });
  mkdirSync(join(bare, 'var/lib/dpkg/updates'));
  writeFileSync(join(bare, 'var/lib/dpkg/status'), '');
  writeFileSync(join(bare, 'dev/null'), '');
  writeFileSync(join(bare, 'etc/passwd'), 'root:x:0:0:root:/root:/bin/sh\n');
  writeFileSync(join(bare, 'etc/group'), 'root:x:0:\n');
  for (const file of files) cpSync(file, join(bare, file), { dereference: true, recursive: true });
  const shell = [...files].find((file) => /\/(dash|bash)$/.test(file)) ?? '';
  if (!existsSync(join(bare, 'bin/sh'))) symlinkSync(shell, join(bare, 'bin/sh'));
}

/** Starts the service with the command, and resolves when it is ready. */
async function serve(
  t: { teardown(end: () => Promise<void>): void },
  [program = '', ...args]: readonly string[],
  data: string,
) {
  const port = await reservePort();
  const url = `http://127.0.0.1:${port}/`;
  const child = spawn(program, [...args, 'serve'], {
    env: {
      PATH: process.env.PATH,
      SVC_DATA: data,
      SVC_LISTEN: `127.0.0.1:${port}`,
      SVC_METRICS_LISTEN: 'off',
      SVC_DEMO: 'off',
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  child.stderr.on('data', (text) => {
    said += text;
  });
  const ended = once(child, 'exit');
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM');
    await ended;
  };
  t.teardown(stop);
  await until(`the service is ready: ${said}`, async () => {
    if (child.exitCode !== null) throw new Error(`the service exited: ${said}`);
    const answer = await fetch(`${url}readyz`).catch(() => undefined);
    return answer?.ok ? true : undefined;
  });
  return { url, stop };
}

/** The package as an earlier version of itself. */
async function repackAs(earlier: string): Promise<void> {
  const tree = join(folder, 'earlier');
  await run('dpkg-deb', '--raw-extract', join(folder, `svc_${version}_${arch}.deb`), tree);
  for (const file of ['DEBIAN/control', 'usr/lib/svc/package.json']) {
    const text = readFileSync(join(tree, file), 'utf8');
    writeFileSync(join(tree, file), text.replace(version, earlier));
  }
  const packed = join(folder, `svc_${earlier}_${arch}.deb`);
  await run('dpkg-deb', '--root-owner-group', '-Znone', '--build', tree, packed);
  rmSync(tree, { recursive: true });
}
