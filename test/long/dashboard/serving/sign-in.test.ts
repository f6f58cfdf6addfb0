/**
 * From the link of a notification, signed out, to the incident: with a mailed link and with an
 * identity provider, even if the first attempt fails. In Chromium, with a mail server and a
 * provider next to the service.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { test } from 'tap';
import { buildDashboard, isCurrent } from '../../../../scripts/build-dashboard.mjs';
import { signInBy } from '../../../support/busy-project/people.ts';
import { startChromium } from '../../../support/chromium.ts';
import { needs } from '../../../support/components.ts';
import { saveRule, untilFiring, writeReadings } from '../../../support/incidents-to-show.ts';
import { bodyOf, startMailServer } from '../../../support/mail-server.ts';
import { startOidcStandIn } from '../../../support/oidc-stand-in.ts';
import { dataFolder, pagesOf, startProgram, until } from '../../../support/program.ts';

const EMAIL = 'grace@example.com';
const SECRET = 'client-secret-0123456789';

test(
  'DASH-02: a notification’s link leads through the sign-in to the incident',
  needs('chromium'),
  async (t) => {
    if (!isCurrent()) await buildDashboard();
    const folder = dataFolder(t);
    const secretFile = join(dataFolder(t), 'client.secret');
    writeFileSync(secretFile, SECRET, { mode: 0o600 });
    const mail = await startMailServer(t);
    const provider = await startOidcStandIn(t, { id: 'svc', secret: SECRET, email: EMAIL });
    const [chromium, program] = await Promise.all([
      startChromium(t),
      startProgram(t, folder, {
        SVC_COLLECT: 'none',
        SVC_OIDC_ISSUER: provider.issuer,
        SVC_OIDC_CLIENT_ID: 'svc',
        SVC_OIDC_CLIENT_SECRET_FILE: secretFile,
        SVC_SMTP_URL: mail.url,
        SVC_SMTP_FROM: 'svc@example.test',
      }),
    ]);
    const { projectName, signInUrl = '' } = program.demo;
    const owner = await signInBy(signInUrl);
    const invited = await owner.call('project.v1.ProjectService/InviteMember', {
      projectName,
      requestId: crypto.randomUUID(),
      email: EMAIL,
      role: 'VIEWER',
    });
    await signInBy(String(invited.link));
    await saveRule(program, { displayName: 'CPU is busy' });
    await writeReadings(program, [{ vm: 'vm-1', percent: 97, atMs: Date.now() }]);
    const [incident] = await untilFiring(program, 1);
    const address = `${pagesOf(program.demo)}/${incident?.name}?step=1`;
    const taken = mail.mails.length;
    let mailedLink = '';

    const signedOut = async (): Promise<Page> => {
      const { page } = await chromium.visitor(pagesOf(program.demo));
      await page.goto(address);
      await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();
      return page;
    };
    const endsAtIncident = async (page: Page): Promise<void> => {
      await page.waitForURL(address);
      await page.getByRole('heading', { level: 1, name: 'CPU is busy' }).waitFor();
    };
    const atProvider = (page: Page) => page.getByRole('link', { name: /^Sign in with / }).click();
    /** From the page that explains the failure. */
    const again = async (page: Page, title: string): Promise<void> => {
      await page.getByRole('heading', { level: 1, name: title }).waitFor();
      await page.getByRole('link', { name: 'Sign in' }).click();
      await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();
    };

    await t.test('sign-in by a mailed link ends at the incident', async (t) => {
      const page = await signedOut();
      await page.getByLabel('Email address').fill(EMAIL);
      await page.getByRole('button', { name: 'Send me a link' }).click();
      await page.getByRole('heading', { name: 'Check your mail' }).waitFor();
      // Others arrive too: owners are notified of changes in the project.
      mailedLink = await until('the link is there', () => {
        const letters = mail.mails.slice(taken).map(bodyOf);
        return letters.flatMap((body) => /http:\S+svc_link\S+/.exec(body) ?? []).at(-1);
      });
      await page.goto(mailedLink);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await endsAtIncident(page);
      t.pass('the sign-in ends at the incident, at its step');
    });

    await t.test('sign-in at the identity provider ends at the incident', async (t) => {
      const page = await signedOut();
      await atProvider(page);
      await endsAtIncident(page);
      t.ok(provider.hasSeenSecret(), 'the provider was used');
    });

    await t.test('after a cancelled sign-in at the provider and a new attempt', async (t) => {
      const page = await signedOut();
      provider.isCancelled = true;
      await atProvider(page);
      await again(page, 'Not signed in');
      provider.isCancelled = false;
      await atProvider(page);
      await endsAtIncident(page);
      t.pass('the return path is kept');
    });

    await t.test('after a used link', async (t) => {
      const page = await signedOut();
      await page.goto(mailedLink);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await again(page, 'Refused');
      await atProvider(page);
      await endsAtIncident(page);
      t.pass('the return path is kept');
    });
  },
);
