/**
 * Types of the API as JSON, derived from the generated messages by `import type`, so that none of
 * their code reaches the browser. In a response, a field is required if the server always writes it
 * (implicit presence) and optional if it may be absent. The compiler therefore rejects a plain
 * `number` for a reading that may be missing.
 */
import type { Message } from '@bufbuild/protobuf';
import type { GenMessage } from '@bufbuild/protobuf/codegenv2';
import type { AuditService } from '../../gen/svc/audit/v1/audit_pb.ts';
import type { AutomationService } from '../../gen/svc/iam/v1/automation_pb.ts';
import type { AlertService } from '../../gen/svc/monitoring/v1/alert_pb.ts';
import type { MaintenanceService } from '../../gen/svc/monitoring/v1/maintenance_pb.ts';
import type { MonitoringService } from '../../gen/svc/monitoring/v1/monitoring_pb.ts';
import type { ProjectService } from '../../gen/svc/project/v1/project_pb.ts';

interface Services {
  AlertService: typeof AlertService;
  AuditService: typeof AuditService;
  AutomationService: typeof AutomationService;
  MaintenanceService: typeof MaintenanceService;
  MonitoringService: typeof MonitoringService;
  ProjectService: typeof ProjectService;
}

/** A service that the dashboard calls. */
export type ServiceName = keyof Services;
type Methods<S extends ServiceName> = Services[S]['method'];
/** A method by its local name, such as `listIncidents`. */
export type MethodName<S extends ServiceName> = keyof Methods<S> & string;

/** Full names of the services: the first part of a method's path. */
export const servicePackages: Readonly<Record<ServiceName, string>> = {
  AlertService: 'svc.monitoring.v1',
  AuditService: 'svc.audit.v1',
  AutomationService: 'svc.iam.v1',
  MaintenanceService: 'svc.monitoring.v1',
  MonitoringService: 'svc.monitoring.v1',
  ProjectService: 'svc.project.v1',
};

type Part<Method, K extends 'input' | 'output' | 'methodKind'> =
  Method extends Record<K, infer T> ? T : never;
type MessageOf<Schema> = Schema extends GenMessage<infer M> ? M : never;
type JsonOf<Schema> =
  Schema extends GenMessage<Message, { jsonType: infer J }> ? J & object : never;

/** Response of the server. Times, versions and counts are decimal strings. */
export type ResponseOf<S extends ServiceName, N extends MethodName<S>> = Answered<
  MessageOf<Part<Methods<S>[N], 'output'>>,
  JsonOf<Part<Methods<S>[N], 'output'>>
>;

/** Request to the server. Omitted fields have their defaults. */
export type RequestOf<S extends ServiceName, N extends MethodName<S>> = Requested<
  JsonOf<Part<Methods<S>[N], 'input'>>
>;

/** Methods that change something: their request has a `requestId`, which in a list is a filter. */
export type MutationName<S extends ServiceName> = {
  [N in MethodName<S>]: 'requestId' extends Exclude<keyof RequestOf<S, N>, ListKeys<S, N>>
    ? N
    : never;
}[MethodName<S>];

/** All keys of a list request; no keys of any other request. */
type ListKeys<S extends ServiceName, N extends MethodName<S>> = 'pageToken' extends keyof RequestOf<
  S,
  N
>
  ? keyof RequestOf<S, N>
  : never;

/** Methods that only read and return one response. */
export type ReadName<S extends ServiceName> = {
  [N in MethodName<S>]: Part<Methods<S>[N], 'methodKind'> extends 'unary'
    ? Exclude<N, MutationName<S>>
    : never;
}[MethodName<S>];

type Requested<J> = {
  [K in keyof J]?: J[K] | undefined;
};

/** Keys whose value the message always has. */
type PresentKeys<M> = {
  [K in keyof M]-?: undefined extends M[K] ? never : K;
}[keyof M];

// The first part has the fields that are always written, the second those that may be absent or
// belong to a oneof.
type Answered<M, J> = {
  [K in keyof J & PresentKeys<M>]-?: AnsweredValue<M[K], NonNullable<J[K]>>;
} & {
  [K in Exclude<keyof J, PresentKeys<M>>]?: AnsweredValue<
    K extends keyof M ? NonNullable<M[K]> : OneofValue<M, K>,
    NonNullable<J[K]>
  >;
};

/** The message of one case of a oneof; its cases are separate fields in JSON. */
type OneofValue<M, K> = Extract<M[keyof M], { case: K }> extends { value: infer V } ? V : never;

// A measured value is a number: the service stores neither NaN nor infinity.
type AnsweredValue<V, J> = [V] extends [number]
  ? [J] extends [number | 'NaN' | 'Infinity' | '-Infinity']
    ? number
    : J
  : V extends readonly (infer E)[]
    ? J extends readonly (infer F)[]
      ? AnsweredValue<E, F>[]
      : J
    : V extends Message
      ? J extends object
        ? Answered<V, J>
        : J
      : J;
