/** The dashboard, opened: what was built, read once, and the routes that serve it. */
import type { FastifyInstance } from 'fastify';
import { createVisitors, type VisitorsDeps } from '../../identity/sign-in/visitor.ts';
import type { Log } from '../../platform/log.ts';
import type { Metrics } from '../../platform/metrics.ts';
import { type BuiltDashboard, loadDashboard } from './built-dashboard.ts';
import { addDashboardRoutes } from './dashboard-routes.ts';

export interface DashboardOptions extends VisitorsDeps {
  readonly metrics: Metrics;
}

/** The service runs without it: a dashboard that is not there, or is broken, stops nothing. */
export function openDashboard(options: DashboardOptions) {
  const built = load(options.log);
  const visitors = createVisitors(options);
  return {
    addDashboardRoutes: (app: FastifyInstance): Promise<void> =>
      addDashboardRoutes(app, { ...options, built, visitors }),
  };
}

function load(log: Log): BuiltDashboard | undefined {
  const part = 'dashboard';
  try {
    const built = loadDashboard();
    if (!built) log.warn({ part }, 'The dashboard is not built: run "npm run dashboard"');
    return built;
  } catch (error) {
    log.error({ err: error, part }, 'The dashboard cannot be read: run "npm run dashboard"');
    return undefined;
  }
}
