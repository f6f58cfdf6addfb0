/**
 * Delivery failures on the command line: the deliveries, the last error of each destination,
 * notices, and the operator's log and metrics.
 */
import { test } from 'tap';
import { startCliWorld } from '../support/cli-against-service.ts';
import { until } from '../support/program.ts';
import { startReceiver } from '../support/receiver.ts';

const PROJECT = { SVC_PROJECT: 'acme' };

test('delivery failures can be listed', async (t) => {
  const [broken, gone] = [await startReceiver(t), await startReceiver(t)];
  const world = await startCliWorld(t, {
    SVC_WEBHOOK_ALLOW: '127.0.0.1',
    SVC_WEBHOOK_ALLOW_HTTP: 'on',
    SVC_METRICS_ON_API: 'on',
  });
  await world.svc(['admin', 'project', 'create', 'acme', '--owner', 'owner@example.test']);
  await world.signIn();
  const svc = (...args: string[]) => world.svc(args, { env: PROJECT });
  const ids: string[] = [];
  for (const [name, { url }] of [
    ['Pager', broken],
    ['Old pager', gone],
  ] as const) {
    const args = ['--kind', 'webhook', '--name', name, '--url', url, '--json'];
    const { destination } = (await svc('destinations', 'create', ...args)).json;
    ids.push(destination.name.slice(destination.name.lastIndexOf('/') + 1));
  }
  const [pager = '', oldPager = ''] = ids;
  t.match(await svc('deliveries', 'list', '--failed'), { stdout: 'No failed deliveries\n' });
  await svc('destinations', 'test', oldPager);
  await until('one was sent', async () => {
    const { stdout } = await svc('deliveries', 'list', '--status', 'SENT');
    return stdout.includes('Old pager') || undefined;
  });
  broken.answer(500);
  gone.answer(410);

  await t.test(
    'ERR-08: --failed lists failures of all destinations, newest first, with the error',
    async (t) => {
      await svc('destinations', 'test', pager);
      const rows = async () => (await svc('deliveries', 'list', '--failed')).stdout.split('\n');
      await until('it failed', async () => (await rows()).length > 2 || undefined);
      await svc('destinations', 'test', oldPager);
      await until('the other did', async () => (await rows()).length > 3 || undefined);
      const [head, first, second, end] = await rows();
      t.match(head, /^failed +destination +error +state +rule +VM +event /);
      t.match(first, /^\d{4}-\S+ +Old pager +The endpoint answered 410.* +FAILED.* +TEST /);
      t.match(second, /^\d{4}-\S+ +Pager +The endpoint answered 500 +WAITING +TEST .* \d{4}-/);
      t.equal(end, '', 'accepted deliveries are excluded');
      const { deliveries } = (await svc('deliveries', 'list', '--failed', '--json')).json;
      t.match(deliveries, [{ destinationDisplayName: 'Old pager' }, { state: 'WAITING' }]);
      t.match(await svc('deliveries', 'list', '--failed', '--status', 'SENT'), { code: 2 });
    },
  );

  await t.test(
    'ERR-08: a destination keeps its last error after an accepted attempt',
    async (t) => {
      broken.answer(204);
      await svc('destinations', 'test', pager);
      const displayed = await until('it was sent', async () => {
        const ran = await svc('destinations', 'show', pager);
        return /^last delivery +SENT/m.test(ran.stdout) ? ran : undefined;
      });
      t.match(displayed.stdout, /^last error +\d{4}-\S+ The endpoint answered 500$/m);
      const { destinations } = (await svc('destinations', 'list', '--json')).json;
      t.match(destinations, [
        {
          displayName: 'Pager',
          lastError: { error: 'The endpoint answered 500', atUnix: /^\d+$/ },
        },
        { displayName: 'Old pager', lastError: { error: /410/ } },
      ]);
      const list = (await svc('destinations', 'list')).stdout;
      t.match(list, /^Pager .* SENT +\d{4}-\S+ +\d{4}-\S+ +The endpoint answered 500 +dst_/m);
    },
  );

  await t.test('ERR-08: a notice names the paused destination until it is resumed', async (t) => {
    const notices = async () => (await svc('notices')).stdout;
    t.match(
      await notices(),
      /^\d{4}-\S+ +lasts +DESTINATION_PAUSED +Nothing is sent to "Old pager"/m,
    );
    await svc('destinations', 'resume', oldPager);
    t.match(await notices(), /^\d{4}-\S+ +\d{4}-\S+ +DESTINATION_PAUSED /m);
    t.match((await svc('notices', '--json')).json.notices, [{ kind: 'DESTINATION_PAUSED' }]);
  });

  await t.test('ERR-08: each failed attempt is logged and counted for the operator', async (t) => {
    const failures = world.lines
      .map((line) => JSON.parse(line))
      .filter(({ msg }) => msg === 'A delivery attempt failed');
    t.match(failures[0], {
      level: 'warn',
      project: 'acme',
      destination: pager,
      kind: 'webhook',
      attempt: 1,
      outcome: 'failed',
      httpStatus: 500,
      error: 'The endpoint answered 500',
    });
    t.ok(failures.some(({ outcome }) => outcome === 'refused'));
    t.notMatch(JSON.stringify(failures), /\/hook|whsec_/, 'neither the URL nor a secret');
    const headers = { authorization: `Bearer ${world.demo.apiKey}` };
    const metrics = await (await fetch(`${world.endpoint}/metrics`, { headers })).text();
    const count = (outcome: string) =>
      new RegExp(
        `^svc_delivery_attempts_total\\{kind="webhook",outcome="${outcome}"\\} (\\d+)$`,
        'm',
      ).exec(metrics)?.[1];
    const counted = Number(count('failed')) + Number(count('refused'));
    t.equal(counted, failures.length);
  });
});
