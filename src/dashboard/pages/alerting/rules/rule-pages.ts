/**
 * Pages of alert rules and maintenance windows: one chunk, with each page under its name in
 * routes.ts.
 */

export { Page as maintenanceWindows } from '../maintenance/maintenance-windows.tsx';
export { Page as newAlertRule } from './new-rule.tsx';
export { Page as alertRule } from './rule.tsx';
export { Page as alertRules } from './rules.tsx';
