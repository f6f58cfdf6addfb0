/**
 * A valid request of every service method for a tenant, built from the descriptors by field names,
 * so that new methods are attacked without further work.
 */
import { randomUUID } from 'node:crypto';
import {
  type DescField,
  type DescMessage,
  type DescMethod,
  type DescService,
  getOption,
  ScalarType,
} from '@bufbuild/protobuf';
import { AuditService } from '../../src/gen/svc/audit/v1/audit_pb.ts';
import { AutomationService } from '../../src/gen/svc/iam/v1/automation_pb.ts';
import { IngestService } from '../../src/gen/svc/ingest/v1/ingest_pb.ts';
import { AlertService } from '../../src/gen/svc/monitoring/v1/alert_pb.ts';
import { MaintenanceService } from '../../src/gen/svc/monitoring/v1/maintenance_pb.ts';
import { MonitoringService } from '../../src/gen/svc/monitoring/v1/monitoring_pb.ts';
import { type Policy, policy } from '../../src/gen/svc/options/v1/policy_pb.ts';
import { ProjectService } from '../../src/gen/svc/project/v1/project_pb.ts';
import type { Names, Tenant } from './tenants.ts';

const SERVICES: readonly DescService[] = [
  MonitoringService,
  AlertService,
  IngestService,
  AuditService,
  AutomationService,
  ProjectService,
  MaintenanceService,
];

export interface AttackedMethod {
  /** `GetAlertRule` */
  readonly name: string;
  /** `/svc.monitoring.v1.AlertService/GetAlertRule` */
  readonly path: string;
  readonly policy: Policy;
  readonly isStream: boolean;
  readonly desc: DescMethod;
}

export const methods: readonly AttackedMethod[] = SERVICES.flatMap((service) =>
  service.methods.map((desc) => ({
    name: desc.name,
    path: `/${service.typeName}/${desc.name}`,
    desc,
    policy: getOption(desc, policy),
    isStream: desc.methodKind !== 'unary',
  })),
);

/** JSON of a request. */
export type Json = string | number | boolean | null | Json[] | { [name: string]: Json };
export type JsonObject = { [name: string]: Json };

type Named = Pick<Tenant, 'project' | 'names' | 'secrets'> & { readonly ci?: Tenant['ci'] };

/** Sets every field that a careful client would set; request ids are new each time. */
export function requestOf(method: AttackedMethod, tenant: Named): JsonObject {
  return messageOf(method.desc.input, { method: method.name, tenant, depth: 0 });
}

interface Place {
  readonly method: string;
  readonly tenant: Named;
  readonly depth: number;
}

/** Fields that exclude others, or that a valid request omits. */
const LEFT_OUT = new Set(['vmNames', 'pageToken', 'template', 'recoveryThreshold', 'verifier']);

function messageOf(message: DescMessage, place: Place): JsonObject {
  const made: JsonObject = {};
  const chosen = new Set<string>();
  for (const field of message.fields) {
    const { oneof } = field;
    const isSecond = oneof !== undefined && chosen.has(oneof.name);
    const isOutput =
      place.depth > 0 &&
      /^(Destination|EmailRecipient)$/.test(message.name) &&
      !WRITABLE.has(field.jsonName);
    if (isSecond || isOutput || (LEFT_OUT.has(field.jsonName) && place.method !== 'RetireVms'))
      continue;
    if (oneof !== undefined) chosen.add(oneof.name);
    made[field.jsonName] = fieldValue(field, place);
  }
  return made;
}

const WRITABLE = new Set(['displayName', 'webhook', 'address']);

function fieldValue(field: DescField, place: Place): Json {
  const inner = { ...place, depth: place.depth + 1 };
  switch (field.fieldKind) {
    case 'message':
      return messageOf(field.message, inner);
    case 'enum':
      return field.enum.values[1]?.name ?? field.enum.values[0]?.name ?? 0;
    case 'map':
      return { team: 'core' };
    case 'list':
      if (field.listKind === 'message') return [messageOf(field.message, inner)];
      if (field.listKind === 'enum') return [field.enum.values[1]?.name ?? 0];
      return [scalarOf(field.jsonName, field.scalar, place)];
    case 'scalar':
      return scalarOf(field.jsonName, field.scalar, place);
  }
}

function scalarOf(name: string, type: ScalarType, place: Place): Json {
  if (type === ScalarType.BOOL) return true;
  if (type === ScalarType.STRING) return textOf(name, place);
  if (type === ScalarType.DOUBLE || type === ScalarType.FLOAT) return 50;
  const number = NUMBERS[name]?.(Date.now()) ?? 1;
  const is64 = type === ScalarType.INT64 || type === ScalarType.UINT64;
  return is64 ? String(number) : number;
}

const NUMBERS: Readonly<Record<string, (nowMs: number) => number>> = {
  startTimeUnix: (nowMs) => Math.floor(nowMs / 1000) - 3600,
  endTimeUnix: (nowMs) => Math.floor(nowMs / 1000),
  untilUnix: (nowMs) => Math.floor(nowMs / 1000) + 3600,
  observedUnixMs: (nowMs) => nowMs,
  stepSeconds: () => 60,
  pageSize: () => 50,
  historySeconds: () => 3600,
  lifetimeSeconds: () => 3600,
  overlapSeconds: () => 60,
  sustainedSeconds: () => 60,
  recoverySeconds: () => 60,
  repeatIntervalSeconds: () => 3600,
};

/** The resource that `name` refers to, by the noun in the method's name. */
function nounOf(method: string): keyof Names {
  const nouns = Object.keys(NOUN_WORDS) as (keyof Names)[];
  return nouns.find((noun) => method.includes(NOUN_WORDS[noun])) ?? 'Project';
}

const NOUN_WORDS: Readonly<Record<keyof Names, string>> = {
  CiVerification: 'CiVerification',
  CiConnection: 'CiConnection',
  ServiceAccount: 'ServiceAccount',
  AlertRule: 'AlertRule',
  Incident: 'Incident',
  Delivery: 'Delivery',
  MaintenanceWindow: 'MaintenanceWindow',
  Invitation: 'Invitation',
  Destination: 'Destination',
  Member: 'Member',
  Vm: 'VM',
  Key: 'Key',
  Project: 'Project',
};

/** Methods whose `name` is a destination's although their own name does not say so. */
const OF_DESTINATIONS = new Set(['SendTestNotification', 'RotateWebhookSecret']);

function textOf(name: string, { method, tenant }: Place): string {
  const { names, project, secrets } = tenant;
  const noun = OF_DESTINATIONS.has(method) ? 'Destination' : nounOf(method);
  const known: Readonly<Record<string, string | undefined>> = {
    projectName: project,
    name: names[noun],
    parent: names.ServiceAccount,
    vmName: names.Vm,
    vmNames: `${project}/vms/none`,
    ruleName: names.AlertRule,
    incidentName: names.Incident,
    destinationName: names.Destination,
    destinationNames: names.Destination,
    instanceName: names.AlertRule,
    serviceAccountName: names.ServiceAccount,
    trustName: names.CiConnection,
    setupId: names.CiVerification.split('/').at(-1),
    pairingCode: secrets.pairingCode,
    id: randomUUID(),
    requestId: randomUUID(),
    batchId: randomUUID(),
    expectedVersion: method === 'DeleteAlertRule' ? '99' : '0',
    metricId: 'cpu_utilization_pct',
    metricIds: 'cpu_utilization_pct',
    capabilities: 'monitoring.read',
    values: 'monitoring.read',
    machine: 'alertRule',
    datacenter: 'DC-1',
    issuer: 'github',
    email: 'new@example.test',
    address: 'new@example.test',
    series: 'svc_vm_load1',
    url: 'https://hooks.example.com/x',
    projectId: 'another',
    assertion: 'e30.e30.AAAA',
    enrolmentToken: secrets.vmKey?.replace('svc_vm_', 'svc_enrol_'),
  };
  return known[name] ?? 'text';
}

/** A string somewhere in a request. */
export interface Leaf {
  readonly path: readonly (string | number)[];
  readonly value: string;
}

export function stringLeaves(json: Json, path: readonly (string | number)[] = []): Leaf[] {
  if (typeof json === 'string') return [{ path, value: json }];
  if (Array.isArray(json)) return json.flatMap((each, i) => stringLeaves(each, [...path, i]));
  if (typeof json !== 'object' || json === null) return [];
  return Object.entries(json).flatMap(([name, each]) => stringLeaves(each, [...path, name]));
}

/** A copy with another value at a place; `undefined` removes it. */
export function withValue(
  json: Json,
  path: readonly (string | number)[],
  value: Json | undefined,
): Json {
  const [first, ...rest] = path;
  if (first === undefined) return value ?? null;
  if (Array.isArray(json))
    return json.map((each, i) => (i === first ? withValue(each, rest, value) : each));
  const object = { ...(json as JsonObject) };
  if (rest.length > 0) object[first] = withValue(object[first] ?? {}, rest, value);
  else if (value === undefined) delete object[first];
  else object[first] = value;
  return object;
}

/** A message of a stream, as Connect frames it. */
export function enveloped(json: string): Buffer {
  const body = Buffer.from(json);
  const frame = Buffer.alloc(5 + body.length);
  frame.writeUInt32BE(body.length, 1);
  body.copy(frame, 5);
  return frame;
}
