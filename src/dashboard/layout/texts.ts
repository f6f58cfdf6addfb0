/** Texts of the frame around the pages. */
import type { PageName } from '../routes.ts';
import type { Theme } from './theme-choice.ts';

/** Name of the program, in the header and at the end of each title. */
export const PROGRAM = 'svc';

export const texts = {
  skipToContent: 'Skip to content',
  navigation: 'Pages of the project',
  project: 'Project',
  chooseProject: 'Choose a project',
  account: 'Account',
  theme: 'Theme',
  loading: 'Loading…',
  noSuchPage: 'There is no such page',
  noSuchPageHelp: 'The address may be misspelt, or the resource was deleted.',
  home: 'Go to the start page',
  pageMissing: 'The service was updated',
  pageMissingHelp: 'This page can no longer be loaded, or the service is temporarily unavailable.',
  reload: 'Reload',
  pageFailed: 'This page failed',
  pageFailedHelp: 'This is a bug in the dashboard. The service is not affected.',
  projectsFailed: 'Projects could not be loaded',
  retry: 'Try again',
  noProjects: 'You are not a member of any project',
  noProjectsHelp: 'Ask a project owner to invite you.',
} as const;

export const themeNames: Readonly<Record<Theme, string>> = {
  system: 'System theme',
  light: 'Light theme',
  dark: 'Dark theme',
};

export const pageTitles: Readonly<Record<PageName, string>> = {
  home: 'Projects',
  account: 'Account',
  overview: 'Overview',
  vms: 'VMs',
  vm: 'VM',
  incidents: 'Incidents',
  incident: 'Incident',
  alertInstances: 'Alert instances',
  alertInstance: 'Alert instance',
  alertRules: 'Alert rules',
  newAlertRule: 'New alert rule',
  alertRule: 'Alert rule',
  maintenanceWindows: 'Maintenance windows',
  deliveries: 'Deliveries',
  delivery: 'Delivery',
  destinations: 'Destinations',
  newDestination: 'New destination',
  destination: 'Destination',
  serviceAccounts: 'Service accounts',
  serviceAccount: 'Service account',
  members: 'Members',
  memberKeys: 'Keys of a member',
  ciConnections: 'CI connections',
  ciConnection: 'CI connection',
  ciVerification: 'CI verification',
  machines: 'State machines',
  machine: 'State machine',
  audit: 'Audit trail',
  notices: 'Notices',
  limits: 'Limits',
};
