/**
 * `svc admin members`: how members share the work. An embedded service is the only one; two
 * services on a real nats-server list each other, their shares, and members that left.
 */
import { join } from 'node:path';
import { type Test, test } from 'tap';
import type { ListedMember } from '../../src/admin/member-routes.ts';
import { memberRoutes } from '../../src/admin/member-routes.ts';
import { memberActions } from '../../src/cli/member-actions.ts';
import { silentLog } from '../../src/platform/log.ts';
import { loadConfig } from '../../src/platform/settings/config.ts';
import { createService } from '../../src/service/service.ts';
import { SHARES } from '../../streams/platform/membership/roster.ts';
import { soleMember } from '../../streams/platform/membership/sole-member.ts';
import { needs } from '../support/components.ts';
import { natsServerFor } from '../support/nats-server.ts';
import { svc } from '../support/operator-commands.ts';
import { dataFolder, until } from '../support/program.ts';

const settings = {
  SVC_LISTEN: '127.0.0.1:0',
  SVC_METRICS_LISTEN: 'off',
  SVC_COLLECT: 'none',
  SVC_DEMO: 'off',
};

async function start(t: Test, folder: string, more: Readonly<Record<string, string>> = {}) {
  const { settings: loaded } = loadConfig([], { ...settings, SVC_DATA: folder, ...more });
  const service = await createService({ settings: loaded, log: silentLog });
  t.teardown(() => service.stop());
  return service;
}

async function membersOf(folder: string): Promise<readonly ListedMember[]> {
  const { stdout } = await svc(['admin', 'members', '--json', '--data', folder]);
  return JSON.parse(stdout).members;
}

test('DUR-26: an embedded service is the only member', async (t) => {
  const folder = dataFolder(t);
  await start(t, folder);
  t.match(await svc(['admin', 'members', '--data', folder]), {
    code: 0,
    stdout: 'This service runs alone: its streams are embedded\n',
  });
  const { stdout } = await svc(['admin', 'members', '--json', '--data', folder]);
  t.same(JSON.parse(stdout), { isAlone: true, members: [] });
});

const newest = 'nats-server 2.15.1';
test(
  'DUR-26: two members share everything, and one that left is listed as gone',
  needs(newest),
  async (t) => {
    const server = await natsServerFor(t);
    const folders = [dataFolder(t), dataFolder(t)] as const;
    const key = { SVC_MASTER_KEY_FILE: join(folders[0], 'master.key') };
    const first = await start(t, folders[0], { SVC_NATS_URL: server.url });
    const second = await start(t, folders[1], { SVC_NATS_URL: server.url, ...key });
    const seen = await until('both own shares', async () => {
      const members = await membersOf(folders[0]);
      const isReady = members.every(
        ({ shares, address, lag }) => shares > 0 && address !== null && lag === 0,
      );
      // Shares in transit have no owner for a moment.
      const held = members.reduce((sum, { shares }) => sum + shares, 0);
      return members.length === 2 && isReady && held === SHARES.length ? members : undefined;
    });
    t.same(
      seen.map(({ isSelf, status, address, lag }) => ({ isSelf, status, address, lag })),
      [
        { isSelf: true, status: 'acting', address: first.address, lag: 0 },
        { isSelf: false, status: 'acting', address: second.address, lag: 0 },
      ],
    );
    t.equal(seen.filter(({ hasSystem }) => hasSystem).length, 1);
    t.equal((await membersOf(folders[1]))[1]?.isSelf, true, 'the other one reports the same');
    await second.stop();
    const left = await until('the first one owns everything', async () => {
      const members = await membersOf(folders[0]);
      return members[0]?.shares === SHARES.length ? members : undefined;
    });
    t.match(left[1], { status: 'gone', lag: null, shares: 0, address: second.address });
    const { stdout } = await svc(['admin', 'members', '--data', folders[0]]);
    t.match(
      stdout,
      /^MEMBER +STATUS +ADDRESS +PROCESS +SHARES +APPLIED +LAG +CLOCK +VERSION +STARTED/,
    );
    t.match(stdout, /^\w{6} \* +acting +http:\S+ +\S+:\d+ +65 \(_system\) +\d+ +\d+ +0\.0 s /m);
    t.match(stdout, /^\w{6} +gone +http:\S+ +\S+:\d+ +0 +\d+ +- +0\.0 s /m);
  },
);

test('a member that may not act reports this above its last known state', async (t) => {
  const refusal = () => 'This member may have been replaced';
  const routes = memberRoutes({ ...soleMember('node-1'), isAlone: false, refusal });
  const answer = await routes['/v1/members']?.(
    new AbortController().signal,
    Object.assign(() => {}, { drained: async () => {} }),
    {},
  );
  t.match(memberActions[0]?.render(answer), /This member may have been replaced\n$/);
});
