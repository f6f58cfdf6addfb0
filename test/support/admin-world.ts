/** The operator's commands in tests: run whole, over the real routes of a world of people. */
import type { Test } from 'tap';
import { openAdminServer } from '../../src/admin/admin-server.ts';
import { transitionRoutes } from '../../src/admin/audit-routes.ts';
import { identityRoutes } from '../../src/admin/identity-routes.ts';
import type { Surroundings } from '../../src/cli/command.ts';
import { runProgram } from '../../src/cli/program.ts';
import { silentLog } from '../../src/log.ts';
import { startPeopleWorld } from './people-world.ts';
import { dataFolder } from './program.ts';

/** Runs `svc` with these arguments in this process. */
export async function svc(argv: readonly string[], environment: Surroundings['environment'] = {}) {
  let [stdout, stderr] = ['', ''];
  const code = await runProgram(argv, {
    ...{ environment, isTerminal: false, log: () => {}, exitNow: () => {} },
    stdout: (text) => {
      stdout += text;
    },
    stderr: (text) => {
      stderr += text;
    },
    onSignal: () => () => {},
  });
  return { code, stdout, stderr };
}

/** A service's socket over a world of people, and the commands that ask it. */
export async function startAdmin(t: Test) {
  const world = await startPeopleWorld(t);
  const folder = dataFolder(t);
  const routes = {
    ...identityRoutes({ ...world, publicUrl: 'https://svc.example' }),
    ...transitionRoutes(world.host),
  };
  const server = await openAdminServer({ folder, routes, log: silentLog });
  t.teardown(() => server.close());
  const admin = (...args: string[]) => svc(['admin', ...args, '--data', folder]);
  const asJson = async (...args: string[]) => JSON.parse((await admin(...args, '--json')).stdout);
  const use = (link: string) => world.use({ token: link.split('#')[1] ?? '' });
  return { world, folder, admin, asJson, use };
}
