/**
 * The package's entry `svc/sdk`: the imports of a program that uses the service, and nothing that
 * runs the service. It loads no native code. docs/sdk.md explains each.
 */
export { type JsonValue, toJson } from '@bufbuild/protobuf';
export { Code, ConnectError } from '@connectrpc/connect';
export * from '../gen/svc/audit/v1/audit_pb.ts';
export * from '../gen/svc/iam/v1/automation_pb.ts';
export * from '../gen/svc/ingest/v1/ingest_pb.ts';
export * from '../gen/svc/monitoring/v1/alert_pb.ts';
export * from '../gen/svc/monitoring/v1/delivery_pb.ts';
export * from '../gen/svc/monitoring/v1/destination_pb.ts';
export * from '../gen/svc/monitoring/v1/incident_pb.ts';
export * from '../gen/svc/monitoring/v1/monitoring_pb.ts';
export * from '../gen/svc/monitoring/v1/rule_pb.ts';
export * from '../gen/svc/monitoring/v1/webhook_pb.ts';
export * from '../gen/svc/project/v1/project_pb.ts';
export { type ClientOptions, createClient, newRequestId, type ServiceClient } from './client.ts';
export {
  DEDUPLICATION_MS_MIN,
  type DeliveryDeduplicator,
  openSqliteDeduplicator,
  type SqliteDatabase,
  type SqliteDeduplicator,
  type SqliteDeduplicatorOptions,
} from './delivery-deduplicator.ts';
export {
  onSteps,
  type Point as PrometheusPoint,
  type PrometheusQueries,
  type QueryFailure,
  type QueryOutcome,
  type RangeBounds,
  type RangeSeries,
  type Sample,
} from './prometheus-queries.ts';
export { metadataOf, type RetrySettings, reasonOf } from './retry.ts';
export {
  type VerifiedWebhook,
  WEBHOOK_BODY_BYTES_MAX,
  WEBHOOK_WINDOW_SECONDS,
  type WebhookBodyStream,
  type WebhookHeaders,
  type WebhookRefusalReason,
  WebhookRefused,
} from './signed-webhook.ts';
export { readWebhookBody, verifyWebhook } from './verify-webhook.ts';
