/**
 * Keyless CI in Chromium, against the program as a user starts it and a CI platform on the
 * loopback: from the pairing code to the first exchange, including a denied pull request and a
 * second observation; then an owner's actions on the connection.
 */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Locator, Page } from 'playwright-core';
import { test } from 'tap';
import { buildDashboard, isCurrent } from '../../../../scripts/build-dashboard.mjs';
import { type Person, signInBy } from '../../../support/busy-project/people.ts';
import { sendOn, startChromium } from '../../../support/chromium.ts';
import { type ClaimChanges, startCiIssuer } from '../../../support/ci-issuer.ts';
import { needs } from '../../../support/components.ts';
import { dataFolder, pagesOf, startProgram, until } from '../../../support/program.ts';
import { walk } from '../../../support/walk.ts';

const axe = readFileSync(new URL(import.meta.resolve('axe-core/axe.min.js')), 'utf8');
const IAM = 'iam.v1.AutomationService';
const PROJECT = 'projects/demo';
const LIST = `/${PROJECT}/ciConnections`;
/** Claims of the connected workflow. */
const OPEN = { ref_protected: 'false', repository_visibility: 'public', enterprise_id: '7' };
const BY_HAND = { ...OPEN, event_name: 'workflow_dispatch' };
/** Not approved: one claim has another value, one is missing. */
const OTHER = { ref: 'refs/heads/secret-plan', enterprise_id: undefined };

/** Everything that a page could have kept: storage, address, document. */
async function kept(page: Page): Promise<string> {
  const stored = await page.evaluate<string>(
    'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, history.state, document.cookie])',
  );
  return `${stored}${page.url()}${await page.content()}`;
}

/** Reads the pairing code of the open wizard, and confirms that it is stored. */
async function storeCode(page: Page): Promise<string> {
  const secret = page.getByRole('region', { name: 'Pairing code' });
  await secret.getByRole('button', { name: 'Show' }).click();
  const code = await secret.locator('output').innerText();
  await secret.getByRole('button', { name: 'I have stored it' }).click();
  await secret.waitFor({ state: 'detached' });
  return code;
}

/** Accessibility and mobile problems of the page. */
async function problemsOf(page: Page): Promise<unknown[]> {
  const size = page.viewportSize();
  await page.setViewportSize({ width: 360, height: 740 });
  const found = await page.evaluate<unknown[]>(
    `(() => { const module = undefined, define = undefined; ${axe} })();
     axe.run().then(({ violations }) => [
       ...violations.map(({ id, nodes }) => [id, nodes[0].html]),
       ...(document.documentElement.scrollWidth > 360 ? ['wider than the screen'] : [])])`,
  );
  if (size) await page.setViewportSize(size);
  return found;
}

async function tickAll(boxes: Locator): Promise<void> {
  for (const box of await boxes.all()) await box.check();
}

test('keyless CI in the dashboard', needs('chromium'), async (t) => {
  t.setTimeout(840_000);
  if (!isCurrent()) await buildDashboard();
  const platform = await startCiIssuer();
  t.teardown(() => platform.close());
  const settings = { SVC_COLLECT: 'none', SVC_CI_ISSUERS: platform.setting };
  const [chromium, program] = await Promise.all([
    startChromium(t),
    startProgram(t, dataFolder(t), settings),
  ]);
  const origin = program.demo.baseUrl;
  const owner: Person = await signInBy(program.demo.signInUrl ?? '');
  const visitor = await chromium.visitor(pagesOf(program.demo));
  const { page } = visitor;
  await page.context().addCookies([{ ...owner.cookie, url: pagesOf(program.demo) }]);
  const main = page.getByRole('main');
  const change = (method: string, request: object) =>
    owner.call(`${IAM}/${method}`, { requestId: randomUUID(), ...request });

  /** Like a job that has only its platform's token. */
  const asJob = async (method: string, request: object) => {
    const answer = await fetch(`${origin}/svc.${IAM}/${method}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'connect-protocol-version': '1' },
      body: JSON.stringify(request),
    });
    const body: { accessToken?: string } = JSON.parse(await answer.text());
    return { status: answer.status, ...body };
  };
  const mint = (claims: ClaimChanges = {}) =>
    platform.mint({ aud: `${origin}/${PROJECT}`, ...claims });
  const prove = async (setupId: string, pairingCode: string, claims: ClaimChanges) =>
    asJob('SubmitCiVerification', { setupId, pairingCode, assertion: await mint(claims) });
  const exchange = async (trustName: string, claims: ClaimChanges = BY_HAND) =>
    asJob('ExchangeCiToken', { trustName, assertion: await mint(claims) });
  const reads = async (token = ''): Promise<number> => {
    const request = { projectName: PROJECT, inventoryOnly: true };
    const method = 'monitoring.v1.MonitoringService/ListVMMonitoring';
    return (await program.call(method, request, token)).status;
  };
  const setupIdOf = (url: string): string => new URL(url).pathname.split('/').at(-1) ?? '';
  const codes: string[] = [];
  const claim = (name: string): Locator => main.getByRole('row', { name: new RegExp(`^${name} `) });
  let trust = '';
  let account = '';

  await walk(t, 'DASH-18: an owner connects a CI workflow', visitor, async (t) => {
    await page.goto(LIST);
    await main.getByText('No workflows are connected yet').waitFor();
    await main.getByRole('button', { name: 'Create another one' }).click();
    await main.getByLabel('Name of the service account').fill('Deploy bot');
    await main.getByLabel('Template').selectOption({ label: 'Alert manager' });
    await main.getByRole('button', { name: 'Create' }).click();
    await main.getByLabel('Name of the connection').fill('Deploy workflow');
    await main.getByRole('button', { name: 'Start the verification' }).click();
    await page.waitForURL(/\/ciVerifications\/\w+\?step=setUp$/);
    const setupId = setupIdOf(page.url());

    await main.getByRole('region', { name: 'Pairing code' }).waitFor();
    t.same(await problemsOf(page), []);
    const code = await storeCode(page);
    codes.push(code);
    t.match(code, /^svc_pair_/);
    const step = await main.getByRole('region', { name: 'Step to paste' }).innerText();
    for (const part of [setupId, `${origin}/${PROJECT}`, origin, 'secrets.SVC_SETUP_CODE']) {
      t.ok(step.includes(part), `the step has ${part}`);
    }
    t.match(await main.innerText(), /id-token: write/);
    t.match(await main.innerText(), /Valid for (29 min|30 min)/);
    t.notOk((await kept(page)).includes(code), 'the code is not kept anywhere');

    await main.getByRole('link', { name: 'Done: wait for the run' }).click();
    await main.getByRole('heading', { name: 'Waiting for the run' }).waitFor();
    t.match(page.url(), /\?step=wait$/);
    const pull = { event_name: 'pull_request', ref: 'refs/pull/7/merge', head_ref: 'topic' };
    t.equal((await prove(setupId, code, pull)).status, 403);
    await main.getByText('Runs for pull requests and merge queues are never trusted').waitFor();
    t.match(
      await main.innerText(),
      /Claims: event_name, ref, head_ref\.\s+The pairing code is still valid/,
    );

    t.equal((await prove(setupId, code, OPEN)).status, 200);
    await page.waitForURL(/\?step=review$/);
    t.match(
      await claim('repository_id').innerText(),
      /74\s+Bound\s+This id stays the same after a rename/,
    );
    t.match(await claim('environment').innerText(), /absent\s+Bound\s+.* it must stay absent/);
    await main.getByText('Claims kept for review and audit').click();
    t.match(await claim('actor').innerText(), /octocat\s+Kept\s+It may differ from job to job/);
    const ticks = main.getByRole('group', { name: 'Before you approve' }).getByRole('checkbox');
    const approve = main.getByRole('button', { name: 'Approve', exact: true });
    await main.getByLabel(/The branch is not protected/).waitFor();
    t.equal(await ticks.count(), 3, 'the workflow, and two warnings');
    await main.getByText('3 boxes left to tick').waitFor();
    await tickAll(ticks);
    await main.getByText('Only jobs of exactly this workflow can then exchange').waitFor();
    t.equal(await approve.getAttribute('aria-disabled'), 'false');

    await main.getByRole('button', { name: 'Reject and start again' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Reject' }).click();
    await page.waitForURL(/\?step=account&after=\w+$/);
    t.equal(await main.getByLabel('Name of the connection').inputValue(), 'Deploy workflow');
    await main.getByRole('button', { name: 'Start the verification' }).click();
    await page.waitForURL(/\/ciVerifications\/\w+\?step=setUp&after=\w+$/);
    const second = await storeCode(page);
    codes.push(second);
    t.not(second, code);
    t.equal((await prove(setupIdOf(page.url()), second, BY_HAND)).status, 200);
    await main.getByText('1 bound claim differs from the previous observation').waitFor();
    t.match(await claim('event_name').innerText(), /workflow_dispatch\s+Changed\s+was push/);
    t.notMatch(await claim('ref').innerText(), /Changed/);
    await main.getByText('4 boxes left to tick').waitFor();
    await main.getByLabel('event_name is now workflow_dispatch (was push)').waitFor();
    await page.reload();
    await main.getByText('4 boxes left to tick').waitFor();
    await tickAll(ticks);
    await approve.click();

    await page.waitForURL(/step=cleanUp/);
    await main.getByText('Waiting for the first exchange').waitFor();
    const variables = (await main.innerText()).replace(/\s+/g, ' ');
    trust = /SVC_TRUST (\S+)/.exec(variables)?.[1] ?? '';
    t.match(trust, /^projects\/demo\/ciConnections\/\w{26}$/);
    t.match(variables, `SVC_AUDIENCE ${origin}/${PROJECT} Copy SVC_ENDPOINT ${origin} Copy`);
    t.match(await main.innerText(), /delete the secret SVC_SETUP_CODE/);
    t.equal((await exchange(trust)).status, 200);
    await main.getByText('The first exchange succeeded').waitFor();
    t.same(await problemsOf(page), []);
    await main.getByRole('link', { name: 'Open the connection' }).click();
    await page.getByRole('heading', { level: 1, name: 'Deploy workflow' }).waitFor();
    const seen = await kept(page);
    t.notOk(codes.some((one) => seen.includes(one) || visitor.requested.join().includes(one)));
  });

  await walk(t, 'DASH-18: an owner rejects a CI verification', visitor, async (t) => {
    const { serviceAccountName } = await owner.call(`${IAM}/GetCiConnection`, { name: trust });
    account = String(serviceAccountName);
    const started = await change('StartCiVerification', {
      serviceAccountName: account,
      displayName: 'Nightly build',
      capabilities: ['monitoring.read'],
    });
    const { setupId, pairingCode } = started as Readonly<Record<string, string>>;
    await page.goto(LIST);
    const open = main.getByRole('table', { name: 'Verifications in progress' });
    await open.getByText('Nightly build').waitFor();
    t.match(await open.innerText(), /Nightly build\s+Awaiting the run\s+(29 min|30 min)/);
    await open.getByRole('link', { name: 'Nightly build' }).click();
    await main.getByText('The pairing code was displayed once').waitFor();
    await main.getByRole('button', { name: 'Reject', exact: true }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Reason').fill('The code is in a log');
    await dialog.getByRole('button', { name: 'Reject' }).click();
    await main.getByText('This verification was rejected').waitFor();
    t.not((await prove(setupId ?? '', pairingCode ?? '', OPEN)).status, 200, 'its code is invalid');
    await main.getByRole('link', { name: 'Start again' }).click();
    t.equal(await main.getByLabel('Name of the connection').inputValue(), 'Nightly build');
  });

  await t.test(
    'DASH-18: a start whose answer was lost is one verification without its code',
    async (t) => {
      // Everything reaches the service, but no response returns.
      await page.route(
        '**/StartCiVerification',
        async (route) => {
          await sendOn(route);
          await route.abort();
        },
        { times: 1 },
      );
      await main.getByRole('button', { name: 'Start the verification' }).click();
      await main.getByText('The outcome of the change is unknown').waitFor();
      await main.getByRole('button', { name: 'Send again' }).click();
      await main.getByText('The pairing code was displayed once').waitFor();
      const { verifications } = await owner.call(`${IAM}/ListCiVerifications`, {
        projectName: PROJECT,
      });
      const open = (verifications as { state: string }[]).filter(
        ({ state }) => state === 'AWAITING_PROOF',
      );
      t.equal(open.length, 1);
      t.same(
        visitor.problems.splice(0).filter((problem) => !/ERR_FAILED/.test(problem)),
        [],
      );
    },
  );

  await walk(
    t,
    'DASH-18: an owner edits the permissions of a CI connection',
    visitor,
    async (t) => {
      const token = (await exchange(trust)).accessToken;
      t.equal(await reads(token), 200);
      t.equal((await exchange(trust, { ...BY_HAND, ...OTHER })).status, 403);
      await until('the refusal is noted', async () => {
        const { recentRefusals } = await owner.call(`${IAM}/GetCiConnection`, { name: trust });
        return (recentRefusals as unknown[]).length > 0 || undefined;
      });
      await page.goto(`/${trust}`);
      const refusals = main.getByRole('list', { name: 'Recent refusals' });
      await refusals.getByText(/The job does not match the approved one/).waitFor();
      t.match(
        await refusals.innerText(),
        /enterprise_id\s+missing.*ref\s+another value.*Correlation id \w{26}/s,
      );
      t.notMatch(await page.content(), 'secret-plan', 'values are only in the log of the job');
      const exchanges = main.getByRole('table', { name: 'Recent exchanges' });
      await exchanges
        .getByRole('row', { name: /octocat/ })
        .nth(1)
        .waitFor();
      await main.getByRole('button', { name: 'Edit name and permissions' }).click();
      const dialog = page.getByRole('dialog');
      t.match(await dialog.innerText(), /invalidates all issued tokens at once/);
      await dialog.getByLabel(/monitoring\.write/).uncheck();
      await dialog.getByRole('button', { name: 'Save' }).click();
      await main.getByText('Approved permissions').locator('xpath=..').getByText(/read$/).waitFor();
      t.equal(await reads(token), 401, 'the earlier token is invalid');
      t.equal(await reads((await exchange(trust)).accessToken), 200);
    },
  );

  await walk(
    t,
    'DASH-18: an owner disables, enables and deletes a CI connection',
    visitor,
    async (t) => {
      const token = (await exchange(trust)).accessToken;
      await page.goto(LIST);
      const row = main.getByRole('table', { name: 'CI connections' }).getByRole('row').nth(1);
      await row.getByText('Deploy bot').waitFor();
      t.match(await row.innerText(), /Enabled\s+Deploy bot\s+octo-org\/octo-repo\s+.*deploy\.yml/);
      await row.getByRole('link', { name: 'Deploy workflow' }).click();
      const dialog = page.getByRole('dialog');
      await main.getByRole('button', { name: 'Disable' }).click();
      t.match(await dialog.innerText(), /Emergency stop/);
      await dialog.getByLabel('Reason').fill('A token leaked');
      await dialog.getByRole('button', { name: 'Disable' }).click();
      await main.getByText('Reason for disabling: A token leaked').waitFor();
      t.not(await reads(token), 200);
      t.equal((await exchange(trust)).status, 403);
      await main.getByRole('button', { name: 'Enable' }).click();
      await dialog.getByRole('button', { name: 'Enable' }).click();
      await main.getByRole('button', { name: 'Disable' }).waitFor();
      t.not(await reads(token), 200, 'an earlier token stays invalid');
      t.equal(await reads((await exchange(trust)).accessToken), 200);
      await main.getByRole('button', { name: 'Delete' }).click();
      await dialog.getByRole('button', { name: 'Delete' }).click();
      await main.getByText('No workflows are connected yet').waitFor();
      t.equal((await exchange(trust)).status, 403);
    },
  );
});
