/**
 * Every RPC of the service on one router. Each method is registered by itself, because its declared
 * policy decides how it treats unknown fields: a mutation refuses them (a misspelt selection must
 * not be lost), and so does a method that computes from a spec. Any other read ignores them.
 *
 *   request -> gate (version, access, position) -> body -> slot and turn -> handler -> reason and position
 */
import { type DescService, getOption } from '@bufbuild/protobuf';
import {
  type ConnectRouter,
  type ConnectRouterOptions,
  createContextValues,
  type MethodImpl,
  type ServiceImpl,
} from '@connectrpc/connect';
import type { FastifyRequest } from 'fastify';
import type { Alerting } from '../../actors/alerting/alerting.ts';
import type { EvaluatorView } from '../../actors/alerting/evaluator/evaluator-port.ts';
import type { DestinationRests } from '../../actors/delivery/destination-rests.ts';
import type { Destinations } from '../../actors/delivery/destinations-port.ts';
import type { Host } from '../../actors/platform/host/host-port.ts';
import type { ClockNotes } from '../../actors/telemetry/ingest/clock-notes.ts';
import type { IngestRates } from '../../actors/telemetry/ingest/ingest-limits.ts';
import type { Ingest } from '../../actors/telemetry/ingest/ingest-port.ts';
import type { VmSources } from '../../actors/vms/vm-sources.ts';
import type { SecretStore } from '../../sqlite/platform/secrets/secret-store.ts';
import type { Clock } from '../../streams/platform/clock.ts';
import { type AlertInstanceDeps, alertInstanceMethods } from '../alerting/api/alert-instances.ts';
import { type AlertPreviewDeps, previewAlertRule } from '../alerting/api/alert-preview.ts';
import {
  type AlertRulesDeps,
  alertRuleMethods,
  alertTemplateMethods,
} from '../alerting/api/alert-rules.ts';
import {
  cutOffKey,
  type IncidentWatchDeps,
  incidentWatch,
} from '../alerting/api/incident-watch.ts';
import { type IncidentDeps, incidentMethods } from '../alerting/api/incidents.ts';
import { type MaintenanceDeps, maintenanceService } from '../alerting/api/maintenance.ts';
import { type OverviewDeps, overviewMethods } from '../alerting/api/project-overview.ts';
import { auditService } from '../audit/api/audit.ts';
import { type CiDeps, ciMethods } from '../ci/api/ci.ts';
import { type DeliveryDeps, deliveryMethods } from '../delivery/api/deliveries.ts';
import { type DestinationDeps, destinationMethods } from '../delivery/api/destinations.ts';
import { noticeMethods } from '../delivery/api/notices.ts';
import { AuditService } from '../gen/svc/audit/v1/audit_pb.ts';
import { AutomationService } from '../gen/svc/iam/v1/automation_pb.ts';
import { IngestService } from '../gen/svc/ingest/v1/ingest_pb.ts';
import { AlertService } from '../gen/svc/monitoring/v1/alert_pb.ts';
import { MaintenanceService } from '../gen/svc/monitoring/v1/maintenance_pb.ts';
import { MonitoringService } from '../gen/svc/monitoring/v1/monitoring_pb.ts';
import { policy } from '../gen/svc/options/v1/policy_pb.ts';
import { ProjectService } from '../gen/svc/project/v1/project_pb.ts';
import { type AccountsDeps, accountMethods } from '../identity/api/accounts.ts';
import { credentialMethods } from '../identity/api/credentials.ts';
import { type KeysDeps, keyMethods } from '../identity/api/keys.ts';
import { memberMethods } from '../identity/api/members.ts';
import { callerMethods, type ProjectDeps } from '../identity/api/projects.ts';
import type { Authenticator } from '../platform/access/authenticator.ts';
import { mapErrors } from '../platform/api/error-mapping.ts';
import {
  addressKey,
  type GateDeps,
  recordAnonymousSuccess,
  requestGate,
} from '../platform/api/gate.ts';
import { passReadyBytes } from '../platform/api/list-answer.ts';
import { bodyBytesMaxOf, requestCompressions } from '../platform/api/message-bytes.ts';
import { completeResponses } from '../platform/api/response-mapping.ts';
import { releaseSlots, slotsOfPeople } from '../platform/api/slots.ts';
import type { RecordDamage } from '../platform/damage.ts';
import type { ProjectLimitUse } from '../platform/gate/limit-use.ts';
import type { ProjectBounds, ProjectGate } from '../platform/gate/project-gate.ts';
import { ANSWER_BYTES_MAX, BODY_BYTES_MAX } from '../platform/http-limits.ts';
import type { Log } from '../platform/log.ts';
import { type RuleReplayDeps, replayAlertRule } from '../replay/api/replay-alert-rule.ts';
import type { RuleReplays } from '../replay/open-rule-replays.ts';
import { ingestService } from '../telemetry/api/ingest.ts';
import { monitoringService } from '../telemetry/api/monitoring.ts';
import type { IncidentRecomputations } from '../telemetry/query/explain/recompute-incident.ts';
import type { AlertPreviews } from '../telemetry/query/preview/alert-preview.ts';
import type { VmQueries } from '../telemetry/query/vm/vm-queries.ts';
import { agentMethods, type EnrolmentDeps, enrolmentMethods } from '../vms/api/vm-enrolments.ts';
import { admitBodies } from './request-bodies.ts';

export interface RpcDeps
  extends IdentityDeps,
    IncidentWatchDeps,
    MaintenanceDeps,
    Pick<GateDeps, 'rotateCookie' | 'positions' | 'anonymousLimits'> {
  /** Called with the encoding of each body that cannot be decompressed. */
  readonly recordBrokenBody: (encoding: string) => void;
  readonly host: Host;
  readonly alerting: Alerting;
  readonly destinations: Destinations;
  readonly rests: Pick<DestinationRests, 'untilMs'>;
  readonly secrets: Pick<SecretStore, 'excerpts'>;
  readonly evaluator: EvaluatorView;
  readonly ingest: Ingest;
  readonly vmQueries: VmQueries;
  readonly alertPreviews: AlertPreviews;
  readonly ruleReplays: RuleReplays;
  readonly incidentRecomputations: IncidentRecomputations;
  /** Age up to which history is read, ms. */
  readonly retentionMs: number;
  readonly clocks: Pick<ClockNotes, 'within'>;
  readonly sources: VmSources;
  readonly datacenters: { stateOf(name: string): 'live' | 'stale' };
  readonly authenticator: Authenticator;
  readonly gate: ProjectGate;
  readonly ingestRates: IngestRates;
  readonly recordRefusal: ProjectBounds['recordRefusal'];
  /** Counts a call that needed damaged data. */
  readonly recordDamage?: RecordDamage;
  readonly limitUse: Pick<ProjectLimitUse, 'of'>;
  readonly clock: Clock;
  readonly log: Log;
}

/** Only the Connect protocol: no client of ours uses the other two. */
const PROTOCOLS = { grpc: false, grpcWeb: false } as const;

/** Options of the plugin, to be spread beside `routes`. */
export function connectOptions(deps: RpcDeps) {
  return {
    ...PROTOCOLS,
    contextValues: ({ raw, ip }: FastifyRequest) =>
      createContextValues()
        .set(cutOffKey, () => void raw.destroy())
        .set(addressKey, ip),
    requestGate: requestGate(deps),
    interceptors: [
      mapErrors(deps.log, deps.recordRefusal, deps.recordDamage),
      slotsOfPeople(deps.gate),
      recordAnonymousSuccess,
    ],
    acceptCompression: [...requestCompressions(deps.recordBrokenBody)],
    readMaxBytes: BODY_BYTES_MAX,
    writeMaxBytes: ANSWER_BYTES_MAX,
  };
}

/** Registers every method; for `fastifyConnectPlugin`. */
export function rpcRoutes(deps: RpcDeps): (router: ConnectRouter) => void {
  return (router) => {
    register(router, MonitoringService, monitoringService(deps));
    register(router, AlertService, alertService(deps));
    register(router, MaintenanceService, maintenanceService(deps));
    register(router, IngestService, ingestService(deps));
    register(router, AuditService, auditService(deps));
    register(router, AutomationService, automationService(deps));
    register(router, ProjectService, projectService(deps));
    passReadyBytes(router);
    admitBodies(router, deps);
    releaseSlots(router, deps.gate);
    completeResponses(router, deps);
  };
}

function register<S extends DescService>(
  router: ConnectRouter,
  service: S,
  implementation: ServiceImpl<S>,
): void {
  for (const method of service.methods) {
    // `ServiceImpl` has exactly one implementation for each method, under its local name.
    const implement = implementation[method.localName as keyof ServiceImpl<S>];
    const { mutation, strict } = getOption(method, policy);
    const options: ConnectRouterOptions = {
      // Repeated, because a method's options replace the router's choice of protocols.
      ...PROTOCOLS,
      readMaxBytes: bodyBytesMaxOf(method),
      jsonOptions: { alwaysEmitImplicit: true, ignoreUnknownFields: !(mutation || strict) },
    };
    router.rpc(method, implement as MethodImpl<typeof method>, options);
  }
}

export type AlertDeps = AlertRulesDeps &
  AlertInstanceDeps &
  AlertPreviewDeps &
  RuleReplayDeps &
  IncidentWatchDeps &
  IncidentDeps &
  OverviewDeps &
  DestinationDeps &
  DeliveryDeps;

export type IdentityDeps = AccountsDeps & KeysDeps & CiDeps & ProjectDeps & EnrolmentDeps;

/** The RPC services whose methods come from several rooms, each composed from those rooms. */
function alertService(deps: AlertDeps): ServiceImpl<typeof AlertService> {
  return {
    previewAlertRule: (request, context) => previewAlertRule(deps, request, context),
    replayAlertRule: (request, context) => replayAlertRule(deps, request, context),
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

function automationService(deps: IdentityDeps): ServiceImpl<typeof AutomationService> {
  return {
    ...accountMethods(deps),
    ...keyMethods(deps),
    ...credentialMethods(deps),
    ...ciMethods(deps),
    ...agentMethods(deps),
  };
}

function projectService(deps: IdentityDeps): ServiceImpl<typeof ProjectService> {
  return { ...callerMethods(deps), ...memberMethods(deps), ...enrolmentMethods(deps) };
}
