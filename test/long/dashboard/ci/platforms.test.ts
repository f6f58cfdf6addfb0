/**
 * The CI wizard in Chromium for each platform besides GitHub, with a token in that platform's
 * format: the platform is chosen, its own step is shown, and the workflow is approved and
 * exchanges. Then an expired verification.
 */
import type { Page } from 'playwright-core';
import { test } from 'tap';
import { buildDashboard, isCurrent } from '../../../../scripts/build-dashboard.mjs';
import { signInBy } from '../../../support/busy-project/people.ts';
import { sendOn, startChromium } from '../../../support/chromium.ts';
import { genuineClaims } from '../../../support/ci-claims.ts';
import { startCiIssuer } from '../../../support/ci-issuer.ts';
import { needs } from '../../../support/components.ts';
import { dataFolder, pagesOf, startProgram } from '../../../support/program.ts';

const IAM = 'iam.v1.AutomationService';
const PROJECT = 'projects/demo';
const LIST = `/${PROJECT}/ciConnections`;
const KINDS = ['gitlab', 'buildkite', 'circleci'] as const;
/** Text that only the step of this platform contains. */
const WORDS = {
  gitlab: ['id_tokens:', 'script:'],
  buildkite: ['buildkite-agent oidc request-token', '--claim pipeline_id'],
  circleci: ['circleci run oidc get', '- run:'],
} as const;
/** How each names the connected repository or pipeline. */
const SOURCES = {
  gitlab: 'group/project',
  buildkite: 'app',
  circleci: 'github.com/acme/app',
} as const;

test('each CI platform in the wizard', needs('chromium'), async (t) => {
  t.setTimeout(840_000);
  if (!isCurrent()) await buildDashboard();
  const issuers = await Promise.all(
    KINDS.map((kind) =>
      startCiIssuer({ claims: (seconds, issuer) => genuineClaims(seconds, issuer)[kind] }),
    ),
  );
  t.teardown(() => Promise.all(issuers.map((issuer) => issuer.close())));
  const setting = KINDS.map((kind, i) => `${kind}=${kind}@${issuers[i]?.url}`);
  const settings = { SVC_COLLECT: 'none', SVC_CI_ISSUERS: setting.join() };
  const [chromium, program] = await Promise.all([
    startChromium(t),
    startProgram(t, dataFolder(t), settings),
  ]);
  const { baseUrl: origin, signInUrl = '' } = program.demo;
  const owner = await signInBy(signInUrl);
  await owner.call(`${IAM}/CreateServiceAccount`, {
    projectName: PROJECT,
    displayName: 'Deploy bot',
    template: 'metrics-scraper',
    requestId: crypto.randomUUID(),
  });
  const { page, problems } = await chromium.visitor(pagesOf(program.demo));
  await page.context().addCookies([{ ...owner.cookie, url: pagesOf(program.demo) }]);
  const main = page.getByRole('main');
  /** Like a job that has only its platform's token. */
  const asJob = async (method: string, request: object): Promise<number> => {
    const answer = await fetch(`${origin}/svc.${IAM}/${method}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'connect-protocol-version': '1' },
      body: JSON.stringify(request),
    });
    await answer.body?.cancel();
    return answer.status;
  };

  for (const [i, kind] of KINDS.entries()) {
    await t.test(`${kind}: from its own step to the first exchange`, async (t) => {
      const mint = () => issuers[i]?.mint({ aud: `${origin}/${PROJECT}` });
      await start(page, `Deploy by ${kind}`, kind);
      const code = await storeCode(page);
      const step = await main.getByRole('region', { name: 'Step to paste' }).innerText();
      for (const word of WORDS[kind]) t.ok(step.includes(word), word);
      const setupId = new URL(page.url()).pathname.split('/').at(-1);
      const proof = { setupId, pairingCode: code, assertion: await mint() };
      t.equal(await asJob('SubmitCiVerification', proof), 200);
      await page.goto(new URL(page.url()).pathname);
      const ticks = main.getByRole('group', { name: 'Before you approve' }).getByRole('checkbox');
      await ticks.first().waitFor();
      t.ok(
        (await main.innerText()).includes(SOURCES[kind]),
        'the review names the connected workflow',
      );
      for (const box of await ticks.all()) await box.check();
      await main.getByRole('button', { name: 'Approve', exact: true }).click();
      await main.getByText('Waiting for the first exchange').waitFor();
      const [trustName] =
        /projects\/demo\/ciConnections\/\w{26}/.exec(await main.innerText()) ?? [];
      t.equal(await asJob('ExchangeCiToken', { trustName, assertion: await mint() }), 200);
      await main.getByText('The first exchange succeeded').waitFor();
      await main.getByRole('link', { name: 'Open the connection' }).click();
      await page.getByRole('heading', { level: 1, name: `Deploy by ${kind}` }).waitFor();
      await main.getByText(SOURCES[kind]).first().waitFor();
      t.same(problems, []);
    });
  }

  await t.test('DASH-18: an expired verification is marked and leads to another', async (t) => {
    await start(page, 'Too late', 'gitlab');
    await storeCode(page);
    // As it is after half an hour.
    await page.route('**/GetCiVerification', async (route) => {
      const response = await sendOn(route);
      const json = { ...(await response.json()), state: 'EXPIRED' };
      await route.fulfill({ response, json });
    });
    await page.reload();
    await main.getByText('This verification expired after 30 minutes').waitFor();
    t.equal(
      await main.getByRole('button', { name: /Reject/ }).count(),
      0,
      'nothing is left to end',
    );
    t.notMatch(await main.innerText(), /Valid for/);
    await page.unroute('**/GetCiVerification');
    await main.getByRole('link', { name: 'Start again' }).click();
    t.equal(await main.getByLabel('Name of the connection').inputValue(), 'Too late');
    t.same(problems, []);
  });
});

async function start(page: Page, name: string, platform: string): Promise<void> {
  const main = page.getByRole('main');
  await page.goto(`${LIST}?step=account`);
  await main.getByLabel('Service account', { exact: true }).selectOption({ label: 'Deploy bot' });
  await main.getByLabel('Name of the connection').fill(name);
  await main.getByLabel('CI platform').selectOption(platform);
  await main.getByRole('button', { name: 'Start the verification' }).click();
  await page.waitForURL(/\/ciVerifications\/\w+\?step=setUp/);
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
