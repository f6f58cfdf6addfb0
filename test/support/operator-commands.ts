/** The operator's commands, run end to end over the real admin routes of a host with people. */
import type { Test } from 'tap';
import { openAdminServer } from '../../src/admin/admin-server.ts';
import { transitionRoutes } from '../../src/admin/audit-routes.ts';
import { bounceRoutes } from '../../src/admin/bounce-routes.ts';
import { identityRoutes } from '../../src/admin/identity-routes.ts';
import { processPorts } from '../../src/cli/client/ports.ts';
import type { Surroundings } from '../../src/cli/command.ts';
import { runProgram } from '../../src/cli/program.ts';
import { createLeakReports } from '../../src/identity/auth/leaked-keys.ts';
import { silentLog } from '../../src/platform/log.ts';
import { createMetrics } from '../../src/platform/metrics.ts';
import { startPeopleWorld } from './people-on-host.ts';
import { dataFolder } from './program.ts';
import { testAccessTokens } from './sign-in-ports.ts';

/** Runs `svc` with these arguments in this process. */
export async function svc(
  argv: readonly string[],
  environment: Surroundings['environment'] = {},
  input?: string,
) {
  let [stdout, stderr] = ['', ''];
  const code = await runProgram(argv, {
    environment,
    isTerminal: false,
    log: () => {},
    exitNow: () => {},
    stdout: (text) => {
      stdout += text;
    },
    stderr: (text) => {
      stderr += text;
    },
    onSignal: () => () => {},
    ...(input !== undefined && {
      client: { ...processPorts(), readInput: async () => input },
    }),
  });
  return { code, stdout, stderr };
}

/** A service's socket over a world of people, and the commands that use it. */
export async function startAdmin(t: Test) {
  const world = await startPeopleWorld(t);
  const folder = dataFolder(t);
  const metrics = createMetrics({ clock: world.clock, version: 'test' });
  t.teardown(() => metrics.close());
  const tokens = await testAccessTokens(world.clock);
  const leaks = createLeakReports({ ...world, tokens, metrics, log: silentLog });
  const routes = {
    ...identityRoutes({ ...world, leaks, publicUrl: 'https://svc.example' }),
    ...transitionRoutes(world.host),
    ...bounceRoutes({ host: world.host, log: silentLog, metrics }),
  };
  const server = await openAdminServer({ folder, routes, log: silentLog });
  t.teardown(() => server.close());
  const admin = (...args: string[]) => svc(['admin', ...args, '--data', folder]);
  const withInput = (input: string, ...args: string[]) =>
    svc(['admin', ...args, '--data', folder], {}, input);
  const asJson = async (...args: string[]) => JSON.parse((await admin(...args, '--json')).stdout);
  const use = (link: string) => world.use({ token: link.split('#')[1] ?? '' });
  return { world, folder, admin, withInput, asJson, use };
}
