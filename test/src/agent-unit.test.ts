/** The systemd unit that we ship, and how `svc agent install` puts it in place. */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { hiddenPath, UNIT_NAME, unitText } from '../../src/agent/unit.ts';
import { componentPath, needs } from '../support/components.ts';
import { dataFolder, runToEnd } from '../support/program.ts';

const program = fileURLToPath(new URL('../../bin/svc.js', import.meta.url));

t.test('the unit runs this machine’s program, with words that systemd reads as they are', (t) => {
  const text = unitText({ command: ['/opt/node/bin/node', '/opt/my svc/100%/$HOME/bin/svc.js'] });
  t.match(
    text,
    /^ExecStart=\/opt\/node\/bin\/node "\/opt\/my svc\/100%%\/\$\$HOME\/bin\/svc\.js" agent run$/m,
  );
  const often = unitText({ command: ['/n', '/s'], intervalSeconds: 5 });
  t.match(often, /^ExecStart=\/n \/s agent run --interval 5s$/m);
  t.equal(text.match(/^ExecStart=/gm)?.length, 1);
  t.end();
});

t.test('its sandbox leaves the agent what it needs, and nothing else', (t) => {
  const text = unitText({ command: ['/n'] });
  for (const line of [
    'DynamicUser=yes',
    'StateDirectory=svc-agent',
    'NoNewPrivileges=yes',
    'ProtectSystem=strict',
    'ProtectHome=yes',
    'PrivateDevices=yes',
    'CapabilityBoundingSet=',
    'UMask=0077',
  ]) {
    t.ok(text.split('\n').includes(line), line);
  }
  t.notMatch(text, /^(MemoryDenyWriteExecute|ProcSubset)=/m, 'the engine and /proc/meminfo');
  t.equal(hiddenPath(['/opt/node', '/home/me/svc.js']), '/home/me/svc.js');
  t.equal(hiddenPath(['/usr/bin/node', '/opt/svc/bin/svc.js']), undefined);
  t.end();
});

t.test('systemd finds no fault in it', needs('systemd-analyze'), (t) => {
  const path = join(dataFolder(t), UNIT_NAME);
  writeFileSync(path, unitText({ command: [process.execPath, '/bin/true'] }));
  const verified = execFileSync(componentPath('systemd-analyze'), ['verify', path], {
    ...{ encoding: 'utf8', timeout: 20_000, stdio: ['ignore', 'pipe', 'pipe'] },
  });
  t.equal(verified, '');
  t.end();
});

t.test('install writes the unit where it is told to, and --dry-run nowhere', async (t) => {
  const folder = dataFolder(t);
  const shown = await runToEnd(['agent', 'install', '--dry-run', '--interval', '10s']);
  t.equal(shown.code, 0, shown.text);
  t.match(shown.stdout, /^ExecStart=.*svc\.js agent run --interval 10s$/m);
  const written = await runToEnd(['agent', 'install', '--unit-folder', folder]);
  if (hiddenPath([process.execPath, program]) === undefined) {
    t.equal(written.code, 0, written.text);
    t.match(readFileSync(join(folder, UNIT_NAME), 'utf8'), /^ExecStart=.*svc\.js agent run$/m);
  } else t.match(written, { code: 1, text: /sandbox hides/ });
  const slow = await runToEnd(['agent', 'install', '--dry-run', '--interval', '60s']);
  t.equal(slow.code, 2);
  const nowhere = await runToEnd(['agent', 'install', '--unit-folder', join(folder, 'none')]);
  t.equal(nowhere.code, 1);
});
