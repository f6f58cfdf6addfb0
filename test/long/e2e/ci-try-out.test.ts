/**
 * "Try it on one machine" of docs/ci.md, followed literally: its blocks run unchanged, on a
 * terminal, against the program and the platform of `npm run ci-issuer`.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Test, test } from 'tap';
import { startCiMachine } from '../../e2e/ci-machine.ts';
import { codeBlock } from '../../support/code-blocks.ts';
import { needs } from '../../support/components.ts';
import { until } from '../../support/program.ts';

const script = fileURLToPath(new URL('../../../scripts/try-ci-issuer.ts', import.meta.url));

/** Starts the platform of `npm run ci-issuer` on a free port; resolves with its address. */
async function startTryOutIssuer(t: Test): Promise<string> {
  const platform = spawn(process.execPath, [script, '--port', '0']);
  const exited = once(platform, 'exit');
  t.teardown(async () => {
    platform.kill();
    await exited;
  });
  let displayed = '';
  platform.stdout.on('data', (chunk) => (displayed += chunk));
  return until('the platform', () => /github@(http:\S+)/.exec(displayed)?.[1]);
}

test(
  'CI-15: keyless CI can be tried on one machine as in docs/ci.md',
  needs('curl', 'script'),
  async (t) => {
    const issuer = await startTryOutIssuer(t);
    const world = await startCiMachine(t, `try=github@${issuer}`);
    const blocks = [
      '# Try it: start a verification',
      '# Try it: the job proves its identity',
      '# Try it: approve, and use it',
    ];
    const code = blocks
      .map((name) => codeBlock('ci.md', name))
      .join('\n')
      .replaceAll('http://127.0.0.1:9080', issuer)
      .replaceAll('http://127.0.0.1:8080', world.program.demo.baseUrl);
    const folder = dirname(world.data);
    const file = join(folder, 'try.sh');
    writeFileSync(file, `set -euo pipefail; cd '${folder}'\n${code}`);
    const displayed = (pattern: RegExp) => (screen: string) => pattern.exec(screen)?.[1] ?? '';
    const { code: exit, stdout } = await world.run(
      ['script', '-qefc', `bash --norc '${file}'`, '/dev/null'],
      {
        terminal: [
          /Setup id: /,
          displayed(/^setup id +(\w+)/m),
          /Code: /,
          displayed(/^code +(svc_pair_\w+)/m),
          /Type "yes": /,
          'yes',
        ],
      },
    );
    t.equal(exit, 0, exit === 0 ? 'every step succeeds' : stdout);
    t.match(stdout, 'Observed, and waiting for review. Nothing is granted yet.');
    t.match(stdout, /^repository_id +74 +yes/m, 'the claims of the fictional workflow');
    t.match(stdout, /No VMs in this project|^VM +/m, 'the job reads with its token');
  },
);
