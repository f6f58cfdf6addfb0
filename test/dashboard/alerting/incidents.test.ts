/**
 * Incidents in Chromium, as somebody on call meets them: from the link of a notification to the
 * acknowledgement on a phone, the list as it changes, what was typed when a session ends. The
 * program runs as a user starts it, with readings of its own.
 */
import t, { type Test } from 'tap';
import { buildDashboard, isCurrent } from '../../../scripts/build-dashboard.mjs';
import { type Chromium, startChromium, type Visitor } from '../../support/chromium.ts';
import { needs } from '../../support/components.ts';
import {
  listIncidents,
  saveRule,
  untilFiring,
  writeReadings,
} from '../../support/incidents-to-show.ts';
import { dataFolder, type Program, startProgram } from '../../support/program.ts';

const SETTINGS = { SVC_COLLECT: 'none' };
const MARKUP = '<img src=x onerror=alert(1)><b>bold</b>';
const PHONE = { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true };

t.test('incidents', needs('chromium'), async (t) => {
  if (!isCurrent()) await buildDashboard();
  const chromium = await startChromium(t);
  const program = await startProgram(t, dataFolder(t), SETTINGS);
  await saveRule(program, { displayName: MARKUP });
  await writeReadings(program, [breach('vm-1', MARKUP), breach('vm-2')]);
  const firing = await untilFiring(program, 2);
  const first = firing.find(({ vmName }) => vmName.endsWith('/vm-1'))?.name ?? '';
  const { owner, phone } = await signedIn(t, chromium, program, first);

  await t.test('on a phone, two touches acknowledge', async (t) => {
    const { page } = phone;
    await page.getByRole('heading', { level: 1, name: MARKUP }).waitFor();
    const facts = page.locator('.incident-facts');
    const words = await facts.innerText();
    for (const said of ['Critical', 'Firing', '97 %', '> 90 %', MARKUP, 'ago']) {
      t.ok(words.includes(said), `the first screen says ${said}`);
    }
    const acknowledge = page.locator('.sticky-acts').getByRole('button', { name: 'Acknowledge' });
    const box = await acknowledge.boundingBox();
    t.ok(box && box.height >= 44, 'a finger hits it');
    t.ok(box && box.y + box.height <= 740, 'and it is on the screen');
    await acknowledge.tap();
    await page.getByLabel('Note for the others').fill(MARKUP);
    await page.getByRole('dialog').getByRole('button', { name: 'Acknowledge' }).tap();
    await page.locator('.note-text').waitFor();
    t.equal(await page.locator('.note-text').innerText(), MARKUP, 'markup stays text');
    const [acknowledged] = await listIncidents(program, { vmName: vmNamed(program, 'vm-1') });
    t.equal(acknowledged?.acknowledged?.note, MARKUP);
    t.equal(await page.evaluate('document.documentElement.scrollWidth'), 360);
    t.same(phone.problems, []);
  });

  await t.test('and two touches snooze; it says who is not notified until when', async (t) => {
    const { page } = phone;
    await page.locator('.sticky-acts').getByRole('button', { name: 'Snooze' }).tap();
    const dialog = page.getByRole('dialog');
    t.match(await dialog.innerText(), /Nobody is notified until \d\d:\d\d; evaluation goes on/);
    await dialog.getByRole('button', { name: '4 h' }).tap();
    await page.getByRole('button', { name: 'End the snooze' }).waitFor();
    const [snoozed] = await listIncidents(program, { vmName: vmNamed(program, 'vm-1') });
    t.ok(snoozed?.snoozedUntilUnix, 'the service has it');
    t.same(phone.problems, []);
  });

  await t.test('the list shows what others did, and the worst first', async (t) => {
    const { page } = owner;
    await page.goto('/projects/demo/incidents');
    const rows = page.locator('tr[data-row]');
    await rows.nth(1).waitFor();
    t.match(await page.getByRole('table').innerText(), /Acknowledged/);
    t.same(owner.problems, []);
  });
});

function breach(vm: string, displayName = vm, percent = 97) {
  return { vm, displayName, percent, atMs: Date.now() };
}

function vmNamed(program: Program, vm: string): string {
  return `${program.demo.projectName}/vms/${vm}`;
}

/** Somebody at a desk, and the same person on a phone, who came by the link of a notification. */
async function signedIn(
  t: Test,
  chromium: Chromium,
  program: Program,
  incident: string,
): Promise<{ owner: Visitor; phone: Visitor }> {
  const { baseUrl, signInUrl = '' } = program.demo;
  const phone = await chromium.visitor(baseUrl, PHONE);
  await phone.page.goto(`/${incident}`);
  const asked = new URL(phone.page.url());
  t.equal(asked.pathname, '/auth/sign-in', 'who is signed out is asked to sign in');
  t.equal(asked.searchParams.get('return'), `/${incident}`);
  // As the mailed link of that form has it.
  const link = new URL(signInUrl);
  link.searchParams.set('return', `/${incident}`);
  await phone.page.goto(link.href);
  await phone.page.getByRole('button', { name: 'Sign in' }).click();
  await phone.page.waitForURL(`${baseUrl}/${incident}`);
  t.pass('and ends at the incident');
  const owner = await chromium.visitor(baseUrl);
  await owner.page.context().addCookies(await phone.page.context().cookies());
  return { owner, phone };
}
