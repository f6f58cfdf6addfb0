/**
 * The module of each page. Each is a chunk of its own, loaded when the page is first opened; what
 * several share becomes a chunk that they share. The build lists the chunks of each page by the
 * literal import here, so that the shell can announce them before any script has run.
 */
import type { PageName } from '../routes.ts';
import type { PageModule } from './page.ts';

type LoadPage = () => Promise<PageModule>;

export const pageModules: Readonly<Record<PageName, LoadPage>> = {
  home: () => import('./identity/home.tsx'),
  account: () => import('./identity/account.tsx'),
  overview: () => import('./platform/overview.tsx'),
  vms: () => import('./vms/vms.tsx'),
  vm: () => import('./vms/vm.tsx'),
  incidents: () => import('./alerting/incidents/incidents.tsx'),
  incident: () => import('./alerting/incidents/incident.tsx'),
  alertInstances: () => import('./alerting/instances/instances.tsx'),
  alertInstance: () => import('./alerting/instances/instance.tsx'),
  alertRules: () => import('./alerting/rules/rules.tsx'),
  newAlertRule: () => import('./alerting/rules/new-rule.tsx'),
  alertRule: () => import('./alerting/rules/rule.tsx'),
  maintenanceWindows: () => import('./alerting/maintenance/maintenance-windows.tsx'),
  deliveries: () => import('./delivery/deliveries.tsx'),
  delivery: () => import('./delivery/delivery.tsx'),
  destinations: () => import('./delivery/destinations.tsx'),
  newDestination: () => import('./delivery/new-destination.tsx'),
  destination: () => import('./delivery/destination.tsx'),
  serviceAccounts: () => import('./identity/service-accounts.tsx'),
  serviceAccount: () => import('./identity/service-account.tsx'),
  members: () => import('./identity/members.tsx'),
  memberKeys: () => import('./identity/member-keys.tsx'),
  ciConnections: () => import('./ci/connections.tsx'),
  ciConnection: () => import('./ci/connection.tsx'),
  ciVerification: () => import('./ci/verification.tsx'),
  machines: () => import('./audit/machines.tsx'),
  machine: () => import('./audit/machine.tsx'),
  audit: () => import('./audit/audit.tsx'),
  notices: () => import('./platform/notices.tsx'),
  limits: () => import('./platform/limits.tsx'),
};
