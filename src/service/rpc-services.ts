/** The RPC services whose methods come from several rooms, each composed from those rooms. */

import type { ServiceImpl } from '@connectrpc/connect';
import { type AlertInstanceDeps, alertInstanceMethods } from '../alerting/api/alert-instances.ts';
import { type AlertPreviewDeps, previewAlertRule } from '../alerting/api/alert-preview.ts';
import {
  type AlertRulesDeps,
  alertRuleMethods,
  alertTemplateMethods,
} from '../alerting/api/alert-rules.ts';
import { type IncidentWatchDeps, incidentWatch } from '../alerting/api/incident-watch.ts';
import { type IncidentDeps, incidentMethods } from '../alerting/api/incidents.ts';
import { type OverviewDeps, overviewMethods } from '../alerting/api/project-overview.ts';
import { type CiDeps, ciMethods } from '../ci/api/ci.ts';
import { type DeliveryDeps, deliveryMethods } from '../delivery/api/deliveries.ts';
import { type DestinationDeps, destinationMethods } from '../delivery/api/destinations.ts';
import { noticeMethods } from '../delivery/api/notices.ts';
import type { AutomationService } from '../gen/svc/iam/v1/automation_pb.ts';
import type { AlertService } from '../gen/svc/monitoring/v1/alert_pb.ts';
import type { ProjectService } from '../gen/svc/project/v1/project_pb.ts';
import { type AccountsDeps, accountMethods } from '../identity/api/accounts.ts';
import { credentialMethods } from '../identity/api/credentials.ts';
import { type KeysDeps, keyMethods } from '../identity/api/keys.ts';
import { memberMethods } from '../identity/api/members.ts';
import { callerMethods, type ProjectDeps } from '../identity/api/projects.ts';
import { agentMethods, type EnrolmentDeps, enrolmentMethods } from '../vms/api/vm-enrolments.ts';

export type AlertDeps = AlertRulesDeps &
  AlertInstanceDeps &
  AlertPreviewDeps &
  IncidentWatchDeps &
  IncidentDeps &
  OverviewDeps &
  DestinationDeps &
  DeliveryDeps;

export type IdentityDeps = AccountsDeps & KeysDeps & CiDeps & ProjectDeps & EnrolmentDeps;

export function alertService(deps: AlertDeps): ServiceImpl<typeof AlertService> {
  return {
    previewAlertRule: (request, context) => previewAlertRule(deps, request, context),
    ...alertRuleMethods(deps),
    ...alertInstanceMethods(deps),
    ...alertTemplateMethods(),
    ...incidentWatch(deps),
    ...incidentMethods(deps),
    ...destinationMethods(deps),
    ...deliveryMethods(deps),
    ...noticeMethods(deps),
    ...overviewMethods(deps),
  };
}

export function automationService(deps: IdentityDeps): ServiceImpl<typeof AutomationService> {
  return {
    ...accountMethods(deps),
    ...keyMethods(deps),
    ...credentialMethods(deps),
    ...ciMethods(deps),
    ...agentMethods(deps),
  };
}

export function projectService(deps: IdentityDeps): ServiceImpl<typeof ProjectService> {
  return { ...callerMethods(deps), ...memberMethods(deps), ...enrolmentMethods(deps) };
}
