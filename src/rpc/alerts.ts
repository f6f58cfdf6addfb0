/** `AlertService`: its parts put together. Each reads messages, calls one function, answers. */
import type { ServiceImpl } from '@connectrpc/connect';
import type { AlertService } from '../gen/svc/monitoring/v1/alert_pb.ts';
import { type AlertPreviewDeps, previewAlertRule } from './alert-preview.ts';
import { type AlertRulesDeps, alertRuleMethods } from './alert-rules.ts';
import { alertTemplateMethods } from './alert-templates.ts';
import { type DeliveryDeps, deliveryMethods } from './deliveries.ts';
import { type DestinationDeps, destinationMethods } from './destinations.ts';
import { type IncidentWatchDeps, incidentWatch } from './incident-watch.ts';
import { type IncidentDeps, incidentMethods } from './incidents.ts';
import { noticeMethods } from './notices.ts';

export type AlertDeps = AlertRulesDeps &
  AlertPreviewDeps &
  IncidentWatchDeps &
  IncidentDeps &
  DestinationDeps &
  DeliveryDeps;

export function alertService(deps: AlertDeps): ServiceImpl<typeof AlertService> {
  return {
    previewAlertRule: (request, context) => previewAlertRule(deps, request, context),
    ...alertRuleMethods(deps),
    ...alertTemplateMethods(),
    ...incidentWatch(deps),
    ...incidentMethods(deps),
    ...destinationMethods(deps),
    ...deliveryMethods(deps),
    ...noticeMethods(deps),
  };
}
