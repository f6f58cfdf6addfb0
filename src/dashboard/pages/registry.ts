/**
 * The module of each page. Each is a separate chunk, loaded when one of its pages is first opened;
 * code shared by several becomes a shared chunk. Pages that are usually opened one after another
 * share a module, because one chunk compresses better than several. Pages on which on-call
 * engineers arrive load only their own code. The build derives the chunks of each page from the
 * literal imports here, so that the shell can announce them before any script has run.
 */
import type { PageName } from '../routes.ts';
import type { PageModule } from './page.ts';

type PageModules = { readonly [Name in PageName]: () => Promise<PageModule<Name>> };

export const pageModules: PageModules = {
  home: () => import('./identity/home.tsx'),
  account: () => import('./identity/account.tsx'),
  overview: () => import('./platform/project-pages.ts'),
  vms: () => import('./vms/vms.tsx'),
  vm: () => import('./vms/vm.tsx'),
  incidents: () => import('./alerting/incidents/incidents.tsx'),
  incident: () => import('./alerting/incidents/incident.tsx'),
  alertInstances: () => import('./alerting/instances/instance-pages.ts'),
  alertInstance: () => import('./alerting/instances/instance-pages.ts'),
  alertRules: () => import('./alerting/rules/rule-pages.ts'),
  newAlertRule: () => import('./alerting/rules/rule-pages.ts'),
  alertRule: () => import('./alerting/rules/rule-pages.ts'),
  maintenanceWindows: () => import('./alerting/rules/rule-pages.ts'),
  deliveries: () => import('./delivery/deliveries.tsx'),
  delivery: () => import('./delivery/delivery.tsx'),
  destinations: () => import('./delivery/destination-pages.ts'),
  newDestination: () => import('./delivery/destination-pages.ts'),
  destination: () => import('./delivery/destination-pages.ts'),
  serviceAccounts: () => import('./identity/access-pages.ts'),
  serviceAccount: () => import('./identity/access-pages.ts'),
  members: () => import('./identity/access-pages.ts'),
  memberKeys: () => import('./identity/access-pages.ts'),
  ciConnections: () => import('./ci/ci-pages.ts'),
  ciConnection: () => import('./ci/ci-pages.ts'),
  ciVerification: () => import('./ci/ci-pages.ts'),
  machines: () => import('./audit/audit-pages.ts'),
  machine: () => import('./audit/audit-pages.ts'),
  audit: () => import('./audit/audit-pages.ts'),
  notices: () => import('./platform/project-pages.ts'),
  limits: () => import('./platform/project-pages.ts'),
};
