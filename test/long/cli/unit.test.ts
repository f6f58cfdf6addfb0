/** The systemd units in the package, and how `svc install` and related commands install them. */
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'tap';
import { hiddenPath, type UnitKind, units, unitText } from '../../../src/cli/install.ts';
import { componentPath, needs } from '../../support/components.ts';
import { dataFolder, runToEnd } from '../../support/program.ts';

const program = fileURLToPath(new URL('../../../bin/svc.js', import.meta.url));
const kinds = Object.keys(units) as UnitKind[];

test('a unit runs this machine’s program, with arguments that systemd does not alter', async (t) => {
  const command = ['/opt/node/bin/node', '/opt/my svc/100%/$HOME/bin/svc.js'];
  const words = '/opt/node/bin/node "/opt/my svc/100%%/$$HOME/bin/svc.js"';
  t.ok(unitText('agent', { command }).includes(`\nExecStart=${words} agent run\n`));
  t.ok(unitText('service', { command }).includes(`\nExecStart=${words} serve\n`));
  const often = unitText('agent', { command: ['/n', '/s'], flags: ['--interval', '5s'] });
  t.match(often, /^ExecStart=\/n \/s agent run --interval 5s$/m);
  t.equal(often.match(/^ExecStart=/gm)?.length, 1);
});

test('a sandbox leaves the program exactly what it needs', async (t) => {
  const shared = [
    'DynamicUser=yes',
    'NoNewPrivileges=yes',
    'ProtectSystem=strict',
    'PrivateDevices=yes',
    'CapabilityBoundingSet=',
    'UMask=0077',
    'LimitCORE=0',
    'Environment=NODE_OPTIONS=--disable-sigusr1',
    'StateDirectoryMode=0700',
  ];
  const own = {
    agent: ['StateDirectory=svc-agent', 'ProtectHome=yes'],
    collector: [
      'StateDirectory=svc-collect',
      'ProtectHome=yes',
      "ExecReload=/bin/sh -c 'kill -HUP $MAINPID'",
    ],
    // A hidden /home would be a file system that cannot be measured.
    service: [
      'StateDirectory=svc',
      'ProtectHome=read-only',
      'Environment=SVC_DATA=/var/lib/svc',
      // Directory that an audit sink can write to.
      'LogsDirectory=svc',
      'LogsDirectoryMode=0700',
    ],
  };
  for (const kind of kinds) {
    const text = unitText(kind, { command: ['/n'] });
    const lines = text.split('\n');
    const missing = [...shared, ...own[kind]].filter(
      (line) => !lines.some((found) => found === line || found.startsWith(`${line} `)),
    );
    t.same(missing, [], kind);
    t.notMatch(
      text,
      /^(MemoryDenyWriteExecute|ProcSubset)=/m,
      'these would break the engine and hide /proc/meminfo',
    );
  }
  t.equal(hiddenPath(['/opt/node', '/home/me/svc.js']), '/home/me/svc.js');
  t.equal(hiddenPath(['/usr/bin/node', '/opt/svc/bin/svc.js']), undefined);
});

test(
  'systemd reports no errors in a unit, and a low exposure',
  needs('systemd-analyze'),
  async (t) => {
    for (const kind of kinds) {
      const path = join(dataFolder(t), units[kind].name);
      writeFileSync(path, unitText(kind, { command: [process.execPath, '/bin/true'] }));
      const analyze = (...words: string[]) =>
        spawnSync(componentPath('systemd-analyze'), [...words, path], {
          encoding: 'utf8',
          timeout: 600_000,
        });
      const { stdout, stderr } = analyze('verify');
      t.equal(stdout + stderr, '', kind);
      // In tenths, out of 100: the rest is the network, and /proc of the host.
      const security = analyze('security', '--offline=true', '--no-pager', '--threshold=20');
      t.equal(security.status, 0, security.stdout);
    }
  },
);

test(
  'systemd reports no errors in the unit of a nats-server',
  needs('systemd-analyze'),
  async (t) => {
    const sample = new URL(
      '../../../docs/operations/nats-cluster/nats-server.service',
      import.meta.url,
    );
    const path = join(dataFolder(t), 'nats-server.service');
    // The program of the sample is not installed on every machine.
    const text = readFileSync(sample, 'utf8').replace('/usr/bin/nats-server', '/bin/true');
    writeFileSync(path, text);
    const { stdout, stderr } = spawnSync(componentPath('systemd-analyze'), ['verify', path], {
      encoding: 'utf8',
      timeout: 600_000,
    });
    t.equal(stdout + stderr, '');
  },
);

test('install writes the unit to the given folder, and with --dry-run writes nothing', async (t) => {
  const isHidden = hiddenPath([process.execPath, program]) !== undefined;
  const commands = {
    agent: ['agent', 'install'],
    collector: ['collect', 'install'],
    service: ['install'],
  };
  const started = { agent: 'agent run', collector: 'collect run', service: 'serve' };
  for (const kind of kinds) {
    const folder = dataFolder(t);
    const displayed = await runToEnd([...commands[kind], '--dry-run']);
    t.equal(displayed.code, 0, displayed.text);
    t.match(displayed.stdout, new RegExp(`^ExecStart=.*svc\\.js ${started[kind]}$`, 'm'));
    const written = await runToEnd([...commands[kind], '--unit-folder', folder]);
    if (isHidden) t.match(written, { code: 1, text: /sandbox hides/ });
    else {
      t.equal(written.code, 0, written.text);
      t.equal(
        readFileSync(join(folder, units[kind].name), 'utf8'),
        `${displayed.stdout.trimEnd()}\n`,
      );
    }
    const nowhere = await runToEnd([...commands[kind], '--unit-folder', join(folder, 'none')]);
    t.equal(nowhere.code, 1);
  }
  const slow = await runToEnd(['agent', 'install', '--dry-run', '--interval', '60s']);
  t.equal(slow.code, 2);
});
