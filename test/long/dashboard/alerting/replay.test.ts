/**
 * The replay of a rule in Chromium: the notifications that it would have sent on stored readings,
 * with recipients and texts; if there are more VMs than a replay covers, those that would have
 * fired come first.
 */
import type { Locator, Page } from 'playwright-core';
import { test } from 'tap';
import { buildDashboard, isCurrent } from '../../../../scripts/build-dashboard.mjs';
import { type Person, signInBy } from '../../../support/busy-project/people.ts';
import { startChromium, type Visitor } from '../../../support/chromium.ts';
import { needs } from '../../../support/components.ts';
import { saveRule, untilNamed, writeReadings } from '../../../support/incidents-to-show.ts';
import { pagesOf } from '../../../support/program.ts';
import { joinService } from '../../../support/shared-service.ts';
import { walk } from '../../../support/walk.ts';

const MARKUP = '<b>shop</b>';

test('the replay of a rule', needs('chromium'), async (t) => {
  if (!isCurrent()) await buildDashboard();
  const [chromium, program] = await Promise.all([startChromium(t), joinService('replay')]);
  const { projectName, signInUrl = '' } = program.demo;
  await writeReadings(program, readings());
  await untilNamed(program, MARKUP);
  const owner = await signInBy(signInUrl);
  const created = await owner.call('monitoring.v1.AlertService/CreateDestination', {
    projectName,
    requestId: crypto.randomUUID(),
    destination: { displayName: 'Pager', webhook: { url: 'https://example.com/hook' } },
  });
  const { name: hook } = created.destination as { name: string };
  const rule = await saveRule(program, {
    displayName: 'Busy',
    sustainedSeconds: 300,
    enabled: false,
    destinationNames: [hook],
  });
  const browserOf = async (person: Person): Promise<Visitor> => {
    const visitor = await chromium.visitor(pagesOf(program.demo));
    await visitor.page.context().addCookies([{ ...person.cookie, url: pagesOf(program.demo) }]);
    return visitor;
  };
  const visitor = await browserOf(owner);

  await walk(
    t,
    'DASH-20: an editor replays the notifications of a rule',
    visitor,
    async (t, page) => {
      await page.goto(`/${rule}`);
      await page.getByRole('tab', { name: 'Simulated notifications' }).click();
      const replay = page.getByRole('region', { name: 'Simulated notifications' });
      await replay.getByText('An estimate:').waitFor();
      await replay.getByRole('button', { name: 'Replay' }).click();
      const covered = '20 of 25 VMs, first those on which the rule would have fired';
      await untilReplayed(visitor, replay.getByText(covered));
      const rows = notifications(page);
      await rows.nth(1).waitFor();
      t.equal(await rows.count(), 2);
      const [firing = '', recovery = ''] = await rows.allInnerTexts();
      for (const word of ['Firing', MARKUP, 'Accepted', 'Pager']) t.ok(firing.includes(word), word);
      t.ok(recovery.includes('Recovery'));
      t.equal(await replay.locator('b').count(), 0, 'markup stays text');
      await rows.first().getByRole('button', { name: 'Show' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByText('"type": "incident.firing"').waitFor();
      await dialog.getByText(`"vmDisplayName": "${MARKUP}"`).waitFor();
      await dialog.getByRole('button', { name: 'Close' }).click();
      t.notOk(
        await page.evaluate('location.href.includes("incident")'),
        'nothing is stored in the address',
      );
      const requested = visitor.requested.length;
      await page.getByRole('tab', { name: 'Preview' }).click();
      await page.getByText(/^The rule would have fired/).waitFor();
      t.notOk(await replay.isVisible());
      await page.getByRole('tab', { name: 'Simulated notifications' }).click();
      t.equal(await rows.count(), 2, 'the other tab does not lose the answer');
      const again = visitor.requested
        .slice(requested)
        .filter((path) => /ReplayAlertRule/.test(path));
      t.same(again, [], 'nor asks for it again');
    },
  );

  await t.test(
    'DASH-20: VMs can be chosen, and a change is marked until the next replay',
    async (t) => {
      const { page } = visitor;
      const replay = page.getByRole('region', { name: 'Simulated notifications' });
      await replay.getByRole('button', { name: 'Select VMs' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByText('Select at least one.').waitFor();
      await dialog.getByLabel('vm-24', { exact: true }).check();
      await dialog.getByRole('button', { name: 'Replay these VMs' }).click();
      await replay.getByText('This is the previous replay').waitFor();
      await replay.getByRole('button', { name: 'Replay again' }).click();
      await untilReplayed(visitor, replay.getByText('Nothing would have been sent.'));
      await replay.getByText('1 selected VM.').first().waitFor();
      t.equal(await notifications(page).count(), 0);
      await page.getByLabel('Threshold', { exact: true }).fill('5');
      await replay.getByText('This is the previous replay').waitFor();
      await replay.getByRole('button', { name: 'Replay again' }).click();
      await untilReplayed(visitor, notifications(page).first());
      t.match(await notifications(page).first().innerText(), /vm-24/);
      t.same(visitor.problems, []);
    },
  );

  await t.test('DASH-20: a viewer sees neither destinations nor texts', async (t) => {
    const { link } = await owner.call('project.v1.ProjectService/InviteMember', {
      projectName,
      requestId: crypto.randomUUID(),
      email: 'viewer@example.com',
      role: 'VIEWER',
    });
    const viewer = await browserOf(await signInBy(String(link)));
    await viewer.page.goto(`/${rule}?view=replay`);
    const replay = viewer.page.getByRole('region', { name: 'Simulated notifications' });
    await replay.getByRole('button', { name: 'Replay' }).click();
    const restriction = replay.getByText('Destinations and texts are shown to editors only.');
    await untilReplayed(viewer, restriction);
    await notifications(viewer.page).nth(1).waitFor();
    t.notMatch(await replay.innerText(), /Pager|Show/);
    t.same(viewer.problems, []);
  });
});

/**
 * Waits for what the replay displays. On a busy machine a query may reach its time limit; the
 * replay is then requested again, as people do.
 */
async function untilReplayed({ page, problems }: Visitor, answer: Locator): Promise<void> {
  const known = problems.length;
  const retry = page.getByRole('button', { name: 'Try again' });
  for (;;) {
    await answer.or(retry).first().waitFor();
    if (await answer.isVisible()) return;
    problems.length = known;
    await retry.click();
  }
}

function notifications(page: Page): Locator {
  return page.getByRole('table', { name: 'Simulated notifications' }).locator('tbody tr');
}

/** One of 25 VMs is busy for ten minutes of the last half hour; the names of others come first. */
function readings() {
  const nowMs = Date.now();
  return Array.from({ length: 25 }, (_, i) => i).flatMap((i) =>
    Array.from({ length: 61 }, (_, k) => {
      const secondsAgo = 1_800 - 30 * k;
      const isBusy = i === 23 && secondsAgo > 600 && secondsAgo <= 1_200;
      const vm = `vm-${i}`;
      const displayName = i === 23 ? MARKUP : vm;
      return { vm, displayName, atMs: nowMs - secondsAgo * 1_000, percent: isBusy ? 97 : 10 };
    }),
  );
}
