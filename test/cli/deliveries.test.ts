/**
 * `svc deliveries` against the whole service: a firing that an endpoint answered with 500, listed
 * and shown with its attempt and response, but without the response for a read-only key.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'tap';
import { joinDemoWorld, writeReadings } from '../support/cli-against-service.ts';
import { until } from '../support/program.ts';

test('svc deliveries', async (t) => {
  const endpoint = createServer((_, response) => {
    response.writeHead(500).end('The pager is out of order');
  });
  await new Promise<void>((resolve) => endpoint.listen(0, '127.0.0.1', resolve));
  t.teardown(() => void endpoint.close());
  const { port } = endpoint.address() as AddressInfo;
  const world = await joinDemoWorld(t, 'deliveries');
  const env = { SVC_API_KEY: world.demo.apiKey, SVC_PROJECT: 'deliveries' };
  const svc = (...args: string[]) => world.svc(args, { as: 'nobody', env });
  const url = `http://127.0.0.1:${port}/hook`;
  const created = await fetch(
    `${world.endpoint}/svc.monitoring.v1.AlertService/CreateDestination`,
    {
      method: 'POST',
      headers: {
        authorization: `Bearer ${world.demo.apiKey}`,
        'content-type': 'application/json',
        'connect-protocol-version': '1',
      },
      body: JSON.stringify({
        projectName: 'projects/deliveries',
        requestId: crypto.randomUUID(),
        destination: { displayName: 'Pager', webhook: { url } },
      }),
    },
  );
  const { destination } = (await created.json()) as { destination: { name: string } };
  const condition = ['--metric', 'memory_used_bytes', '--operator', 'GREATER_THAN'];
  const rule = ['--name', 'Memory', ...condition, '--threshold', '5', '--severity', 'WARNING'];
  const at = Math.floor(Date.now() / 1000) - 1;
  await writeReadings(world, [{ at: at - 30, memory: 1, index: 0 }]);
  await svc('alerts', 'save', ...rule, '--all-vms', '--destination', destination.name);
  await writeReadings(world, [{ at, memory: 9, index: 1 }]);
  const delivery = await until('it was tried', async () => {
    const { deliveries } = (await svc('deliveries', 'list', '--json')).json;
    return deliveries.find(({ state }: { state: string }) => state === 'WAITING');
  });
  const id = delivery.name.slice(delivery.name.lastIndexOf('/') + 1);

  await t.test('the list shows the state of each delivery and can be filtered', async (t) => {
    const hook = destination.name.slice(destination.name.lastIndexOf('/') + 1);
    const list = await svc('deliveries', 'list', '--destination', hook);
    const row = `^\\S+ +Memory +One +FIRING +WAITING +Pager +- +1 +\\S+ +${id}$`;
    t.match(list.stdout, new RegExp(row, 'm'));
    t.match(delivery, { vmName: 'projects/deliveries/vms/vm-1', vmDisplayName: 'One' });
    const none = await svc('deliveries', 'list', '--incident', 'inc_none');
    t.equal(none.stdout, 'No matching deliveries\n');
    const recent = await svc('deliveries', 'list', '--since', '1h', '--until', '0s');
    t.match(recent.stdout, new RegExp(row, 'm'), recent.stderr);
    const older = await svc('deliveries', 'list', '--until', '1h');
    t.equal(older.stdout, 'No matching deliveries\n');
    t.match(await svc('deliveries', 'list', '--page-size', '0'), { code: 2, stderr: /1 to 1000/ });
  });

  await t.test('a delivery is shown with its attempts and responses', async (t) => {
    const displayed = await until('the answer is kept', async () => {
      const ran = await svc('deliveries', 'show', id);
      return ran.stdout.includes('out of order') ? ran : undefined;
    });
    t.match(displayed.stdout, /^state +WAITING$/m);
    t.match(
      displayed.stdout,
      /^incident +Memory on One \(projects\/deliveries\/incidents\/inc_\w+\)$/m,
    );
    t.match(displayed.stdout, /^next attempt +\S+$/m);
    t.match(displayed.stdout, /^\S+ +\d+ ms +failed +500 +The endpoint answered 500$/m);
    t.match(displayed.stdout, /^response at \S+ +The pager is out of order$/m);
    t.match(await svc('deliveries', 'show', 'dlv_none'), { code: 4, stderr: /NOT_FOUND/ });
  });
});
