/**
 * Every RPC of the service on one router. Each method is registered by itself, because its declared
 * policy decides how it treats unknown fields: a mutation refuses them (a misspelt selection must
 * not be lost), and so does a method that computes from a spec. Any other read ignores them.
 *
 *   request -> gate (version, access, position) -> body -> slot and turn -> handler -> reason and position
 */
import type { DescService } from '@bufbuild/protobuf';
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
import type { Host } from '../../actors/platform/host/host-port.ts';
import type { ClockNotes } from '../../actors/telemetry/ingest/clock-notes.ts';
import type { IngestRates } from '../../actors/telemetry/ingest/ingest-limits.ts';
import type { Ingest } from '../../actors/telemetry/ingest/ingest-port.ts';
import type { VmSources } from '../../actors/vms/vm-sources.ts';
import type { Clock } from '../../streams/platform/clock.ts';
import { alertInstanceMethods } from '../alerting/api/alert-instances.ts';
import { previewAlertRule } from '../alerting/api/alert-preview.ts';
import { alertRuleMethods, alertTemplateMethods } from '../alerting/api/alert-rules.ts';
import {
  cutOffKey,
  type IncidentWatchDeps,
  incidentWatch,
} from '../alerting/api/incident-watch.ts';
import { incidentMethods } from '../alerting/api/incidents.ts';
import { type MaintenanceDeps, maintenanceService } from '../alerting/api/maintenance.ts';
import { overviewMethods } from '../alerting/api/project-overview.ts';
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
import { ProjectService } from '../gen/svc/project/v1/project_pb.ts';
import { type AccountsDeps, accountMethods } from '../identity/api/accounts.ts';
import { credentialMethods } from '../identity/api/credentials.ts';
import { type KeysDeps, keyMethods } from '../identity/api/keys.ts';
import { memberMethods } from '../identity/api/members.ts';
import { callerMethods, type ProjectDeps } from '../identity/api/projects.ts';
import { policyOf } from '../platform/access/policy.ts';
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
import { replayAlertRule } from '../replay/api/replay-alert-rule.ts';
import type { RuleReplays } from '../replay/open-rule-replays.ts';
import { ingestService } from '../telemetry/api/ingest.ts';
import { monitoringService } from '../telemetry/api/monitoring.ts';
import type { IncidentRecomputations } from '../telemetry/query/explain/recompute-incident.ts';
import type { AlertPreviews } from '../telemetry/query/preview/alert-preview.ts';
import type { VmQueries } from '../telemetry/query/vm/vm-queries.ts';
import { agentMethods, type EnrolmentDeps, enrolmentMethods } from '../vms/api/vm-enrolments.ts';
import { admitBodies } from './request-bodies.ts';

/**
 * Parts of each room that the handlers use. A handler gets the parts of the rooms that it names.
 */
export interface RpcRooms {
  readonly platform: PlatformParts;
  readonly identity: IdentityParts;
  readonly vms: VmParts;
  readonly telemetry: TelemetryParts;
  readonly alerting: AlertingParts;
  readonly delivery: DeliveryDeps & DestinationDeps;
  readonly ci: Pick<CiDeps, 'ci' | 'issuerKind'>;
}

export interface PlatformParts
  extends Pick<GateDeps, 'positions' | 'anonymousLimits'>,
    Pick<IncidentWatchDeps, 'stopping'> {
  readonly host: Host;
  readonly clock: Clock;
  readonly log: Log;
  readonly gate: ProjectGate;
  readonly limitUse: Pick<ProjectLimitUse, 'of'>;
  readonly publicUrl: () => string;
  readonly recordRefusal: ProjectBounds['recordRefusal'];
  /** Called with the encoding of each body that cannot be decompressed. */
  readonly recordBrokenBody: (encoding: string) => void;
  /** Counts a call that needed damaged data. */
  readonly recordDamage?: RecordDamage;
}

export interface IdentityParts
  extends Pick<GateDeps, 'authenticator' | 'rotateCookie'>,
    Pick<AccountsDeps, 'accounts'>,
    Pick<KeysDeps, 'keys' | 'lastUsed'>,
    Omit<ProjectDeps, 'host' | 'clock' | 'publicUrl'> {}

export interface VmParts extends Pick<EnrolmentDeps, 'enrolments'> {
  readonly datacenters: { stateOf(name: string): 'live' | 'stale' };
}

export interface TelemetryParts {
  /** Age up to which history is read, ms. */
  readonly retentionMs: number;
  readonly ingest: Ingest;
  readonly ingestRates: IngestRates;
  readonly clocks: Pick<ClockNotes, 'within'>;
  readonly sources: VmSources;
  readonly vmQueries: VmQueries;
  readonly alertPreviews: AlertPreviews;
  readonly incidentRecomputations: IncidentRecomputations;
}

export interface AlertingParts extends Pick<MaintenanceDeps, 'maintenance'> {
  readonly alerting: Alerting;
  readonly evaluator: EvaluatorView;
  readonly ruleReplays: RuleReplays;
}

/** Only the Connect protocol: no client of ours uses the other two. */
const PROTOCOLS = { grpc: false, grpcWeb: false } as const;

/** Options of the plugin, to be spread beside `routes`. */
export function connectOptions({ platform, identity }: Pick<RpcRooms, 'platform' | 'identity'>) {
  const { log, gate, recordRefusal, recordDamage, recordBrokenBody } = platform;
  return {
    ...PROTOCOLS,
    contextValues: ({ raw, ip }: FastifyRequest) =>
      createContextValues()
        .set(cutOffKey, () => void raw.destroy())
        .set(addressKey, ip),
    requestGate: requestGate({ ...platform, ...identity }),
    interceptors: [
      mapErrors(log, recordRefusal, recordDamage),
      slotsOfPeople(gate),
      recordAnonymousSuccess,
    ],
    acceptCompression: [...requestCompressions(recordBrokenBody)],
    readMaxBytes: BODY_BYTES_MAX,
    writeMaxBytes: ANSWER_BYTES_MAX,
  };
}

/** Registers every method; for `fastifyConnectPlugin`. */
export function rpcRoutes(rooms: RpcRooms): (router: ConnectRouter) => void {
  const { platform, identity, vms, telemetry, alerting } = rooms;
  return (router) => {
    register(router, MonitoringService, monitoringService({ ...platform, ...vms, ...telemetry }));
    register(router, AlertService, alertService(rooms));
    register(router, MaintenanceService, maintenanceService({ ...platform, ...alerting }));
    register(router, IngestService, ingestService({ ...platform, ...telemetry }));
    register(router, AuditService, auditService(platform));
    register(router, AutomationService, automationService(rooms));
    register(router, ProjectService, projectService(rooms));
    passReadyBytes(router);
    admitBodies(router, { ...platform, ...identity, ...telemetry });
    releaseSlots(router, platform.gate);
    completeResponses(router, { ...platform, ...identity });
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
    const { mutation, strict } = policyOf(method);
    const options: ConnectRouterOptions = {
      // Repeated, because a method's options replace the router's choice of protocols.
      ...PROTOCOLS,
      readMaxBytes: bodyBytesMaxOf(method),
      jsonOptions: { alwaysEmitImplicit: true, ignoreUnknownFields: !(mutation || strict) },
    };
    router.rpc(method, implement as MethodImpl<typeof method>, options);
  }
}

/** The RPC services with methods of several rooms, each composed from those rooms. */
function alertService({
  platform,
  vms,
  telemetry,
  alerting,
  delivery,
}: RpcRooms): ServiceImpl<typeof AlertService> {
  const ofRules = { ...platform, ...alerting };
  const ofHistory = { ...platform, ...telemetry };
  const ofBoth = { ...ofRules, ...telemetry };
  const ofMessages = { ...platform, ...delivery };
  return {
    previewAlertRule: (request, context) => previewAlertRule(ofHistory, request, context),
    replayAlertRule: (request, context) => replayAlertRule(ofBoth, request, context),
    ...alertRuleMethods(ofRules),
    ...alertInstanceMethods(ofBoth),
    ...alertTemplateMethods(),
    ...incidentWatch(platform),
    ...incidentMethods(ofHistory),
    ...destinationMethods(ofMessages),
    ...deliveryMethods(ofMessages),
    ...noticeMethods(platform),
    ...overviewMethods({ ...ofHistory, ...vms }),
  };
}

function automationService({
  platform,
  identity,
  vms,
  ci,
}: RpcRooms): ServiceImpl<typeof AutomationService> {
  const ofPeople = { ...platform, ...identity };
  return {
    ...accountMethods(ofPeople),
    ...keyMethods(ofPeople),
    ...credentialMethods(ofPeople),
    ...ciMethods({ ...platform, ...ci }),
    ...agentMethods({ ...platform, ...vms }),
  };
}

function projectService({ platform, identity, vms }: RpcRooms): ServiceImpl<typeof ProjectService> {
  const ofPeople = { ...platform, ...identity };
  return {
    ...callerMethods(ofPeople),
    ...memberMethods(ofPeople),
    ...enrolmentMethods({ ...platform, ...vms }),
  };
}
