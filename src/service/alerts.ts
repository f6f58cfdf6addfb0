/** `AlertService`: its parts put together. Each reads messages, calls one function, answers. */
import type { ServiceImpl } from '@connectrpc/connect';
import { type AlertPreviewDeps, previewAlertRule } from '../alerting/api/alert-preview.ts';
import { type AlertRulesDeps, alertRuleMethods } from '../alerting/api/alert-rules.ts';
import { alertTemplateMethods } from '../alerting/api/alert-templates.ts';
import { type IncidentWatchDeps, incidentWatch } from '../alerting/api/incident-watch.ts';
import { type IncidentDeps, incidentMethods } from '../alerting/api/incidents.ts';
import { type DeliveryDeps, deliveryMethods } from '../delivery/api/deliveries.ts';
import { type DestinationDeps, destinationMethods } from '../delivery/api/destinations.ts';
import { noticeMethods } from '../delivery/api/notices.ts';
import type { AlertService } from '../gen/svc/monitoring/v1/alert_pb.ts';

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
