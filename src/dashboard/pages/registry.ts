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
  incidents: () => import('./alerting/incidents.tsx'),
  incident: () => import('./alerting/incident.tsx'),
  alertInstances: () => import('./alerting/instances.tsx'),
  alertInstance: () => import('./alerting/instance.tsx'),
  deliveries: () => import('./delivery/deliveries.tsx'),
  delivery: () => import('./delivery/delivery.tsx'),
  machines: () => import('./audit/machines.tsx'),
  machine: () => import('./audit/machine.tsx'),
};
