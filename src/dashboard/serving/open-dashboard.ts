/** Opens the dashboard: reads the build once and registers the routes that serve it. */
import type { FastifyInstance } from 'fastify';
import { createVisitors, type VisitorsDeps } from '../../identity/sign-in/visitor.ts';
import type { Log } from '../../platform/log.ts';
import type { Metrics } from '../../platform/metrics.ts';
import {
  BUILD_IT,
  type BuiltDashboard,
  loadDashboard,
  type NoDashboard,
  noDashboard,
} from './built-dashboard.ts';
import { addDashboardRoutes } from './dashboard-routes.ts';

export interface DashboardOptions extends VisitorsDeps {
  readonly metrics: Metrics;
}

/** The service runs without it: a missing or broken dashboard stops nothing. */
export function openDashboard(options: DashboardOptions) {
  const built = load(options.log);
  const visitors = createVisitors(options);
  return {
    /** Why there are no pages, in words; undefined if there are. */
    fault: typeof built === 'string' ? `${noDashboard[built]}. ${BUILD_IT}` : undefined,
    addDashboardRoutes: (app: FastifyInstance): Promise<void> =>
      addDashboardRoutes(app, { ...options, built, visitors }),
  };
}

function load(log: Log): BuiltDashboard | NoDashboard {
  const part = 'dashboard';
  try {
    const built = loadDashboard();
    if (typeof built === 'string') log.warn({ part }, `${noDashboard[built]}. ${BUILD_IT}`);
    return built;
  } catch (error) {
    log.error({ err: error, part }, `${noDashboard.UNREADABLE}. ${BUILD_IT}`);
    return 'UNREADABLE';
  }
}
