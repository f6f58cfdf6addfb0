/**
 * `svc trusts`: a workflow is verified, reviewed claim by claim and approved as reviewed; an
 * approved trust is changed, disabled and deleted, and its tokens follow at once.
 */
import { test } from 'tap';
import { joinCliWorld } from '../support/cli-against-service.ts';
import { until } from '../support/program.ts';
import { prepareAccount } from '../support/trusted-workflow.ts';

test('svc trusts', async (t) => {
  const world = await joinCliWorld(t, 'trusts');
  const { svc, platform } = world;
  const account = await prepareAccount(world, 'trusts');

  const verify = ['trusts', 'verify', '--service-account', account, '--name', 'Deploy workflow'];
  const started = await svc([...verify, '--capability', 'monitoring.read']);
  const code = /^code +(\S+)$/m.exec(started.stderr)?.[1] ?? '';
  const setupId = /^setup id +(\S+)$/m.exec(started.stderr)?.[1] ?? '';
  const audience = /^audience +(\S+)$/m.exec(started.stderr)?.[1] ?? '';
  const job = { ...platform.jobEnvironment, SVC_AUDIENCE: audience };

  await t.test('the step goes to standard output, the code to standard error', async (t) => {
    t.match(started.stdout, /^- name: /);
    t.notOk(started.stdout.includes(code));
    t.match(code, /^svc_pair_/);
    const again = await svc(['trusts', 'list', '--verifications']);
    t.match(again.stdout, new RegExp(`^Deploy workflow +AWAITING_PROOF .*${setupId}$`, 'm'));
  });

  await t.test('a verification without its code is rejected with instructions', async (t) => {
    const args = ['auth', 'ci', '--verify', '--setup-id', setupId];
    t.match(await svc(args, { env: job }), { code: 2, stderr: /SVC_SETUP_CODE is empty/ });
    t.match(await svc(['auth', 'ci', '--verify'], { env: job }), {
      code: 2,
      stderr: /SVC_SETUP_ID/,
    });
    const child = [...args, '--', 'env'];
    t.match(await svc(child, { env: { ...job, SVC_SETUP_CODE: code } }), { code: 2 });
  });

  await t.test('a verification cannot be approved before an observation', async (t) => {
    const ran = await svc(['trusts', 'approve', setupId], { answers: ['yes'] });
    t.match(ran, { code: 1, stderr: /Nothing to approve: the verification is AWAITING_PROOF/ });
    const early = await svc(['trusts', 'approve', setupId, '--digest', 'abc']);
    t.match(early, { code: 1, stderr: /Nothing to approve: the verification is AWAITING_PROOF/ });
  });

  await t.test('a rejected proof is shown in the review', async (t) => {
    t.notMatch((await svc(['trusts', 'review', setupId])).stdout, 'refused');
    platform.job.claims = { event_name: 'pull_request' };
    const env = { ...job, SVC_SETUP_CODE: code, SVC_SETUP_ID: setupId };
    t.equal((await svc(['auth', 'ci', '--verify'], { env })).code, 3);
    platform.job.claims = {};
    const { stdout } = await svc(['trusts', 'review', setupId]);
    t.match(stdout, /^refused +PULL_REQUEST \(event_name\) at \S.*$/m);
    t.match(stdout, `github (${platform.url})`, 'the intended issuer');
  });

  await t.test(
    'the verification step proves the identity, with everything masked first',
    async (t) => {
      const env = { ...job, SVC_SETUP_CODE: `${code}\n`, SVC_SETUP_ID: setupId };
      const ran = await svc(['auth', 'ci', '--verify'], { env });
      t.equal(ran.code, 0, ran.stderr);
      t.match(ran.stdout, /^Observed, and waiting for review\. Nothing is granted yet\.$/m);
      t.match(ran.stdout, /^repository_id +74 +yes$/m);
      t.match(ran.stdout, /^environment +\(absent\) +yes$/m);
      t.match(ran.stderr, new RegExp(`^::add-mask::${code}\\n::add-mask::eyJ`));
    },
  );

  await t.test('an approval shows each claim and asks; anything but yes cancels it', async (t) => {
    const no = await svc(['trusts', 'approve', setupId], { answers: ['y'] });
    t.match(no, { code: 1, stdout: '', stderr: /Not approved/ });
    t.match(no.stderr, /^repository_id +74 +yes$/m);
    t.match(no.stderr, /Trust exactly this workflow with monitoring\.read\? Type "yes": /);
    const program = await svc(['trusts', 'approve', setupId]);
    t.match(program, { code: 2, stderr: /--digest is missing/ });
    const stale = await svc(['trusts', 'approve', setupId, '--digest', 'f'.repeat(64)]);
    t.match(stale, {
      code: 1,
      stderr: /The claims changed since you reviewed them\. Review them again/,
    });
  });

  const review = (await svc(['trusts', 'review', setupId, '--json'])).json;
  const approve = ['trusts', 'approve', setupId, '--digest', review.claimsDigest];
  const approvalId = ['--request-id', '7a0d3c7e-6c27-4d0c-9a6f-2a4f4f5f6a04'];
  const approved = await svc([...approve, ...approvalId]);
  t.equal(approved.code, 0, approved.stderr);
  t.match(approved.stderr, /Now remove the step and the secret SVC_SETUP_CODE/);
  const variables = [...approved.stdout.matchAll(/^(\w+)=(.*)$/gm)];
  const exported = Object.fromEntries(
    variables.map(([, name, value]) => [name ?? '', value ?? '']),
  );
  t.match(exported, { SVC_TRUST: /^projects\/trusts\/ciConnections\//, SVC_AUDIENCE: audience });
  const env: Readonly<Record<string, string>> = { ...job, ...exported };

  await t.test('an approval without a response is resent, also on a terminal', async (t) => {
    const again = await svc(['trusts', 'approve', setupId, ...approvalId], { answers: [] });
    t.match(again, { code: 0, stdout: approved.stdout });
    const other = [...approve, '--request-id', '7a0d3c7e-6c27-4d0c-9a6f-2a4f4f5f6a05'];
    t.match(
      await svc(other),
      { code: 1, stderr: /INVALID_STATE/ },
      'an ambiguous name is rejected',
    );
    t.match(await svc(approve), { code: 1, stderr: /Nothing to approve: .* APPROVED/ });
  });

  const trust = env.SVC_TRUST ?? '';
  const id = trust.split('/').at(-1) ?? '';
  const exchange = () => svc(['auth', 'ci', '--print'], { env });

  await t.test('a trust is listed and shown with its bound claims', async (t) => {
    t.match((await svc(['trusts', 'list'])).stdout, /octo-org\/octo-repo +never /m);
    t.equal((await exchange()).code, 0);
    t.match(
      (await svc(['trusts', 'list'])).stdout,
      new RegExp(`^Deploy workflow +ENABLED .* octo-org/octo-repo +\\d{4}-.*${id}$`, 'm'),
    );
    const displayed = await svc(['trusts', 'show', id]);
    t.match(displayed.stdout, /^audience +http\S+\/projects\/trusts$/m);
    t.match(displayed.stdout, /^repository_owner_id +65 +yes$/m);
    const byName = await svc(['trusts', 'show', 'deploy workflow']);
    t.equal(byName.stdout, displayed.stdout, byName.stderr);
    t.notMatch(displayed.stdout, /refus/, 'no exchange was denied');
  });

  await t.test('DASH-18: a refused exchange is listed with the differing claim', async (t) => {
    platform.job.claims = { ref: 'refs/heads/dev' };
    t.equal((await exchange()).code, 3);
    platform.job.claims = {};
    const { stdout } = await until('the refusal is noted', async () => {
      const displayed = await svc(['trusts', 'show', id]);
      return /^last refusal +\d/m.test(displayed.stdout) ? displayed : undefined;
    });
    t.match(stdout, /^\d{4}-\S+ +IDENTITY_MISMATCH +ref DIFFERENT +\d* +[0-9A-Z]{26}$/m);
  });

  await t.test('an edit of permissions invalidates issued tokens', async (t) => {
    const token = (await exchange()).stdout.trim();
    const read = { as: 'job', env: { SVC_API_KEY: token, SVC_PROJECT: 'trusts' } };
    t.match(await svc(['monitoring', 'vms'], read), { code: 0 });
    t.match(await svc(['trusts', 'update', id, '--name', 'Other name']), {
      code: 0,
      stdout: /Other name/,
    });
    t.match(await svc(['monitoring', 'vms'], read), { code: 0 }, 'a name is not a permission');
    const wider = ['--capability', 'monitoring.read', '--capability', 'monitoring.write'];
    t.equal((await svc(['trusts', 'update', id, ...wider])).code, 0);
    t.match(await svc(['monitoring', 'vms'], read), { code: 3, stderr: /TOKEN_EPOCH/ });
  });

  await t.test(
    'disabling stops exchanges, enabling allows them again, deleting is permanent',
    async (t) => {
      t.match(await svc(['trusts', 'disable', id, '--reason', 'Leak']), {
        stdout: /^state +DISABLED\ndisable reason +Leak$/m,
      });
      t.match(await exchange(), { code: 3, stderr: /cause: CONNECTION_DISABLED/ });
      t.match(await svc(['trusts', 'enable', id]), { stdout: /^state +ENABLED$/m });
      t.match(await exchange(), { code: 0 });
      t.match(await svc(['service-accounts', 'disable', account]), { code: 0 });
      t.match(await exchange(), { code: 3, stderr: /ACCOUNT_DISABLED|CONNECTION_DISABLED/ });
      t.match(await svc(['trusts', 'delete', id]), { stdout: `Deleted ${trust}\n` });
      t.match(await exchange(), { code: 3 });
    },
  );

  await t.test('a verification is rejected, and its code is shown only once', async (t) => {
    t.equal((await svc(['service-accounts', 'enable', account])).code, 0);
    const requestId = '7a0d3c7e-6c27-4d0c-9a6f-2a4f4f5f6a03';
    const verify = ['trusts', 'verify', '--service-account', account, '--name', 'Again'];
    const args = [...verify, '--capability', 'monitoring.read', '--request-id', requestId];
    const { setupId } = (await svc([...args, '--json'])).json;
    const again = await svc(args);
    t.match(again, { code: 1, stderr: /The code cannot be shown again/ });
    const rejected = await svc(['trusts', 'reject', setupId, '--reason', 'Not ours']);
    t.match(rejected, { code: 0, stdout: /^state +REJECTED$/m });
  });
});
