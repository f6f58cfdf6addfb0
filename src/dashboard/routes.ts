/**
 * The table of the dashboard's pages: path, page, and the role that may open it. The server serves
 * exactly these paths, the browser selects the page from the same rows, and links in notifications
 * point to them. It imports nothing, because both sides read it. A path is a resource name of the
 * API after a slash; filters, sort order and range are in the query.
 */

/** The minimum role in the project; `SIGNED_IN` is independent of projects. */
export type PageRole = 'SIGNED_IN' | 'VIEWER' | 'EDITOR' | 'OWNER';

export interface Route {
  /** Segments with a colon are parameters. */
  readonly path: string;
  readonly page: string;
  readonly role: PageRole;
}

/**
 * A fixed segment comes before a parameter in the same position, because the first matching row
 * wins.
 */
export const routes = [
  { path: '/', page: 'home', role: 'SIGNED_IN' },
  { path: '/account', page: 'account', role: 'SIGNED_IN' },
  { path: '/projects/:project', page: 'overview', role: 'VIEWER' },
  { path: '/projects/:project/vms', page: 'vms', role: 'VIEWER' },
  { path: '/projects/:project/vms/:vm', page: 'vm', role: 'VIEWER' },
  { path: '/projects/:project/incidents', page: 'incidents', role: 'VIEWER' },
  { path: '/projects/:project/incidents/:incident', page: 'incident', role: 'VIEWER' },
  { path: '/projects/:project/alertInstances', page: 'alertInstances', role: 'VIEWER' },
  { path: '/projects/:project/alertInstances/:instance', page: 'alertInstance', role: 'VIEWER' },
  { path: '/projects/:project/alertRules', page: 'alertRules', role: 'VIEWER' },
  { path: '/projects/:project/alertRules/new', page: 'newAlertRule', role: 'EDITOR' },
  { path: '/projects/:project/alertRules/:rule', page: 'alertRule', role: 'VIEWER' },
  { path: '/projects/:project/maintenanceWindows', page: 'maintenanceWindows', role: 'VIEWER' },
  { path: '/projects/:project/deliveries', page: 'deliveries', role: 'VIEWER' },
  { path: '/projects/:project/deliveries/:delivery', page: 'delivery', role: 'VIEWER' },
  { path: '/projects/:project/destinations', page: 'destinations', role: 'EDITOR' },
  { path: '/projects/:project/destinations/new', page: 'newDestination', role: 'EDITOR' },
  { path: '/projects/:project/destinations/:destination', page: 'destination', role: 'EDITOR' },
  { path: '/projects/:project/serviceAccounts', page: 'serviceAccounts', role: 'OWNER' },
  { path: '/projects/:project/serviceAccounts/:account', page: 'serviceAccount', role: 'OWNER' },
  { path: '/projects/:project/members', page: 'members', role: 'VIEWER' },
  { path: '/projects/:project/members/:member/keys', page: 'memberKeys', role: 'VIEWER' },
  { path: '/projects/:project/ciConnections', page: 'ciConnections', role: 'OWNER' },
  { path: '/projects/:project/ciConnections/:connection', page: 'ciConnection', role: 'OWNER' },
  {
    path: '/projects/:project/ciVerifications/:verification',
    page: 'ciVerification',
    role: 'OWNER',
  },
  { path: '/projects/:project/machines', page: 'machines', role: 'VIEWER' },
  { path: '/projects/:project/machines/:machine', page: 'machine', role: 'VIEWER' },
  { path: '/projects/:project/audit', page: 'audit', role: 'VIEWER' },
  { path: '/projects/:project/notices', page: 'notices', role: 'VIEWER' },
  { path: '/projects/:project/limits', page: 'limits', role: 'VIEWER' },
] as const satisfies readonly Route[];

export type PageName = (typeof routes)[number]['page'];
