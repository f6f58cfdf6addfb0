/**
 * The output of a denied job: each claim with MISSING and DIFFERENT, in the log and on the summary
 * page; expected values only for the owner; hints, and never a token.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'tap';
import type { DenialCause } from '../../actors/ci/assertion.ts';
import { joinCliWorld } from '../support/cli-against-service.ts';
import { prepareAccount, trustWorkflow } from '../support/trusted-workflow.ts';

/** All causes: a new one does not compile until the guide covers it. */
const causes: Readonly<Record<DenialCause, true>> = {
  PULL_REQUEST: true,
  CONTEXT_REFUSED: true,
  IDENTITY_MISMATCH: true,
  IDENTITY_RENAMED: true,
  ISSUER_CHANGED: true,
  CONNECTION_DISABLED: true,
  CONNECTION_DELETED: true,
  ACCOUNT_DISABLED: true,
  NO_PERMISSION_LEFT: true,
};

test('output of a denied job', async (t) => {
  const world = await joinCliWorld(t, 'ci-refusals');
  const { env, account } = await trustWorkflow(world, await prepareAccount(world, 'ci-refusals'));

  const { platform } = world;
  const summary = join(world.folder, 'summary.md');
  const refused = async (claims: Record<string, unknown>, more: Record<string, string> = {}) => {
    platform.job.claims = claims;
    writeFileSync(summary, '');
    const job = { ...env, GITHUB_STEP_SUMMARY: summary, ...more };
    const ran = await world.svc(['auth', 'ci', '--', 'env'], { env: job });
    platform.job.claims = {};
    t.equal(ran.code, 3, ran.stderr);
    t.equal(ran.child, undefined, 'nothing runs');
    const displayed = ran.stderr.replaceAll(/^::add-mask::.*\n/gm, '');
    const page = readFileSync(summary, 'utf8');
    const masked = ran.stderr.match(/(?<=::add-mask::)\S+/g) ?? [];
    const seen = masked.filter((secret) => (displayed + page).includes(secret));
    t.strictSame([masked.length > 0, seen], [true, []], 'no token is shown');
    return { displayed, page };
  };

  await t.test('differing claims are marked with their expected values', async (t) => {
    const { displayed, page } = await refused({ environment: 'prod', ref: 'refs/heads/x' });
    t.match(displayed, /^environment +prod +DIFFERENT: must be absent$/m);
    t.match(displayed, /^ref +refs\/heads\/x +DIFFERENT: expected refs\/heads\/main$/m);
    t.match(displayed, /^repository_id +74$/m, 'matching claims are shown too');
    t.match(displayed, /^ +cause: IDENTITY_MISMATCH$/m);
    const correlation = /^ +correlation: (\S+)$/m.exec(displayed)?.[1] ?? '';
    t.match(correlation, /^\w{26}$/);
    t.match(page, correlation, 'and on the summary page');
    t.match(page, '| `environment` | `prod` | **`DIFFERENT: must be absent`** |');
  });

  await t.test('missing claims are marked', async (t) => {
    const { displayed } = await refused({ runner_environment: undefined });
    t.match(displayed, /^runner_environment +\(absent\) +MISSING$/m);
    t.match(displayed, /^ +cause: CONTEXT_REFUSED$/m);
    const inProd = await trustWorkflow(world, account, { environment: 'prod' });
    const outside = await refused({}, { SVC_TRUST: inProd.env.SVC_TRUST ?? '' });
    t.match(outside.displayed, /^environment +\(absent\) +MISSING: expected prod$/m);
  });

  await t.test(
    'CI-12: a caller who does not own the workflow sees no expected values',
    async (t) => {
      const { displayed } = await refused({
        repository_id: '99',
        repository_owner_id: '98',
        repository: 'evil/repo',
        repository_owner: 'evil',
        workflow_ref: 'evil/repo/.github/workflows/deploy.yml@refs/heads/main',
        job_workflow_ref: 'evil/repo/.github/workflows/deploy.yml@refs/heads/main',
      });
      t.match(displayed, /^repository_id +99 +DIFFERENT$/m);
      t.notMatch(displayed, 'octo-org/octo-repo +DIFFERENT');
      t.notMatch(displayed, /expected/);
    },
  );

  await t.test('a renamed repository is reported as one', async (t) => {
    const { displayed } = await refused({
      repository: 'octo-org/new-name',
      workflow_ref: 'octo-org/new-name/.github/workflows/deploy.yml@refs/heads/main',
      job_workflow_ref: 'octo-org/new-name/.github/workflows/deploy.yml@refs/heads/main',
    });
    t.match(displayed, /cause: IDENTITY_RENAMED/);
    t.match(displayed, /was renamed\. Verify the workflow again/);
  });

  await t.test('a pull request is always denied', async (t) => {
    const { displayed, page } = await refused(
      { event_name: 'pull_request', ref: 'refs/pull/1/merge', head_ref: 'x', base_ref: 'main' },
      { GITHUB_EVENT_NAME: 'pull_request' },
    );
    t.match(displayed, /Pull requests are always denied, from forks and from branches/);
    t.match(page, /> Pull requests are always denied/);
  });

  await t.test('foreign names cannot manipulate the log or the page', async (t) => {
    const claims = { actor: 'x`|<b>', ref: 'refs/heads/\u001b[31m\n::error::x' };
    const { displayed, page } = await refused(claims);
    t.notOk((displayed + page).includes('\u001b'));
    t.notMatch(displayed + page, /^::error/m);
    t.match(page, "| `actor` | `x'\\|<b>` |  |");
  });

  await t.test('a token for another audience is invalid', async (t) => {
    const { displayed } = await refused(
      {},
      { SVC_AUDIENCE: 'https://elsewhere.example/projects/ci-refusals' },
    );
    t.match(displayed, /BAD_ASSERTION/);
    t.match(displayed, /cause: WRONG_AUDIENCE/);
  });

  await t.test('a program reads the refusal as JSON', async (t) => {
    platform.job.claims = { ref: 'refs/heads/x' };
    const ran = await world.svc(['auth', 'ci', '--print', '--json'], { env });
    platform.job.claims = {};
    const { error } = JSON.parse(ran.stderr.replaceAll(/^::add-mask::.*\n/gm, ''));
    t.match(error, { reason: 'EXCHANGE_DENIED', metadata: { cause: 'IDENTITY_MISMATCH' } });
    t.match(JSON.parse(error.metadata.claims), [{ claim: 'ref', got: 'refs/heads/x' }]);
  });

  await t.test('the guide names every cause of a denial', async (t) => {
    const guide = readFileSync(new URL('../../docs/ci.md', import.meta.url), 'utf8');
    for (const cause of Object.keys(causes)) t.ok(guide.includes(`\`${cause}\``), cause);
  });
});
