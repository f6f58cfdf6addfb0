/** Opens the dashboard: reads the build once and registers the routes that serve it. */
import type { FastifyInstance } from 'fastify';
import { createVisitors, type VisitorsDeps } from '../../identity/sign-in/visitor.ts';
import type { Origins } from '../../platform/http/service-address.ts';
import type { Log } from '../../platform/log.ts';
import type { RoomBase } from '../../platform/room-base.ts';
import {
  BUILD_IT,
  type BuiltDashboard,
  loadDashboard,
  type NoDashboard,
  noDashboard,
} from './built-dashboard.ts';
import { addDashboardRoutes } from './dashboard-routes.ts';

export interface DashboardParts {
  readonly base: Pick<RoomBase, 'clock' | 'log' | 'metrics'>;
  readonly identity: Pick<VisitorsDeps, 'people' | 'rotateCookie'>;
  readonly address: Origins;
}

/** The service runs without it: a missing or broken dashboard stops nothing. */
export function openDashboard({ base, identity, address }: DashboardParts) {
  const { clock, log, metrics } = base;
  const { people, rotateCookie } = identity;
  const built = load(log);
  const visitors = createVisitors({ ...address, people, rotateCookie, clock, log });
  return {
    /** Why there are no pages, in words; undefined if there are. */
    fault: typeof built === 'string' ? `${noDashboard[built]}. ${BUILD_IT}` : undefined,
    addDashboardRoutes: (app: FastifyInstance): Promise<void> =>
      addDashboardRoutes(app, { ...address, built, visitors, log, metrics }),
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
