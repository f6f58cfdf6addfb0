/**
 * The nine steps of docs/ci.md, followed literally: bash runs its code blocks unchanged against the
 * program as a user starts it. A local issuer plays the CI platform, a script in the PATH plays
 * GitHub's `gh`, and a stand-in for the runner runs the pushed workflow.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'tap';
import { startCiMachine, WORKFLOW } from '../../e2e/ci-machine.ts';
import { codeBlock } from '../../support/code-blocks.ts';
import { needs } from '../../support/components.ts';

const PASTE_HERE = '      # the step goes here\n';

test(
  'AUTH-04: the nine steps of docs/ci.md, run as written, end in a job that reads',
  needs('curl', 'script'),
  async (t) => {
    const world = await startCiMachine(t);
    const { platform, program } = world;
    const follow = world.follow.bind(world);
    const push = world.push.bind(world);

    const signedIn = await follow(1, { whileRunning: world.playBrowser.bind(world) });
    t.match(signedIn.stdout, /^Signed in at http:\S+ as (?!people\/)\S/m);
    t.match(signedIn.stdout, /^project +projects\/acme \(OWNER\)$/m);
    t.match((await follow(2)).stdout, /^permissions +monitoring\.read$/m);

    const started = await follow(3);
    const code = /^code +(svc_pair_\S+)$/m.exec(started.stderr)?.[1] ?? '';
    const setupId = /^setup id +(\S+)$/m.exec(started.stderr)?.[1] ?? '';
    t.match(code, /^svc_pair_/, 'the code is shown once');
    t.notMatch(started.stdout, code);
    await follow(4, { input: code });
    await follow(5);
    const pasted = readFileSync(join(world.checkout, WORKFLOW), 'utf8');
    t.notMatch(pasted, code, 'the code is not in the repository');
    await follow(6);
    const proof = await push();
    t.ok(proof.ok, proof.log);
    t.match(proof.log, 'Observed, and waiting for review. Nothing is granted yet.');

    const approved = await follow(7, {
      terminal: [/Setup id.*: /, setupId, /Type "yes": /, 'yes'],
    });
    t.match(approved.stdout, /repository_id +74 +yes/, 'each claim is shown');
    await follow(8);
    t.strictSame(readdirSync(join(world.state, 'secrets')), [], 'the temporary secret is deleted');
    const present = readFileSync(join(world.checkout, WORKFLOW), 'utf8');
    t.equal(present, codeBlock('ci.md', `# ${WORKFLOW}`), 'the step is removed');
    const use = codeBlock('ci.md', '# In place of "the step goes here"').split('\n').slice(1);
    writeFileSync(join(world.checkout, WORKFLOW), present.replace(PASTE_HERE, use.join('\n')));
    await follow(9);
    const job = await push();
    t.ok(job.ok, job.log);
    t.match(
      job.log,
      '{"status":"success","data":{"resultType":"vector"',
      'the job reads the project that trusts it',
    );

    await t.test(
      'AUTH-06, CI-15: the official client gets a token for the same trust',
      async (t) => {
        const file = join(
          t.testdir({ 'exchange.mjs': codeBlock('ci.md', '// exchange.mjs') }),
          'exchange.mjs',
        );
        const environment = { ...world.variables(), ...platform.jobEnvironment };
        const { code, stdout, stderr } = await world.run([process.execPath, file], { environment });
        t.equal(code, 0, stderr);
        t.match(stdout, /^0 VMs$/m);
        t.match(stdout, /^::add-mask::/m);
      },
    );

    await t.test('a run from another branch is rejected, and sees the difference', async (t) => {
      platform.job.claims = { ref: 'refs/heads/topic' };
      const refused = await push();
      t.notOk(refused.ok);
      t.match(refused.log, /^ref +refs\/heads\/topic +DIFFERENT: expected refs\/heads\/main$/m);
      const correlation = /correlation: (\S+)/.exec(refused.log)?.[1] ?? '';
      t.match(correlation, /^\w{26}$/);
      t.match(refused.summary, `correlation: \`${correlation}\``);
      t.match(
        refused.summary,
        '| `ref` | `refs/heads/topic` | **`DIFFERENT: expected refs/heads/main`** |',
      );
      for (const token of refused.masked) t.notMatch(refused.summary + refused.log, token);
      platform.job.claims = {};
    });

    await t.test('a disabled trust stops the next run', async (t) => {
      const trust = world.variables().SVC_TRUST ?? '';
      t.equal((await world.run(['svc', 'trusts', 'disable', trust])).code, 0);
      const refused = await push();
      t.notOk(refused.ok);
      t.match(refused.log, /EXCHANGE_DENIED: .* is disabled/);
    });

    const secrets = [code, world.session(), ...proof.masked, ...job.masked];
    t.ok(secrets.length >= 5 && secrets.every((secret) => secret.length > 40));
    await program.stop();
    for (const secret of secrets) {
      t.notOk(program.log().includes(secret), 'no secret is in the log of the service');
      t.notOk(
        world.filesWith(secret).length > 0,
        'no secret is in a file of the checkout, the home or the data',
      );
    }
  },
);
