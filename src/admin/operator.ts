/**
 * Common fields of an operator's act: the user of the command, the request id, and the words of the
 * command line.
 */
import { createHash } from 'node:crypto';
import type { RequestKey } from '../../actors/platform/host/host-port.ts';
import type { Actor } from '../../streams/platform/commit/commit.ts';
import { invalidField } from '../../streams/platform/refusal.ts';
import { checkUuid } from '../platform/api/caller.ts';
import type { AdminRoute } from './admin-server.ts';

/** A request's JSON. */
export type Body = Parameters<AdminRoute>[2];

/** Only root and the service's own user can connect, so the name in the request is trusted. */
export function operatorOf(body: Body): Actor {
  const name = typeof body.operator === 'string' ? body.operator : '';
  return { kind: 'operator', name: `operator/${/^[\w.@-]{1,64}$/.test(name) ? name : 'unknown'}` };
}

/** The actor, and the key under which the same command gets the same response again. */
export interface OperatorChange {
  readonly by: Actor;
  readonly request: RequestKey;
}

/** @param path of the route, because one id identifies one act. Throws INVALID_FIELD. */
export function changeOf(path: string, body: Body): OperatorChange {
  const by = operatorOf(body);
  const { requestId, operator: _, ...requested } = body;
  const id = typeof requestId === 'string' ? requestId : '';
  checkUuid('requestId', id);
  const fields = Object.entries(requested).sort(([a], [b]) => (a < b ? -1 : 1));
  const digest = createHash('sha256').update(JSON.stringify([path, fields]));
  return { by, request: { scope: by.name, id, fingerprint: digest.digest('hex') } };
}

/** Throws INVALID_FIELD. */
export function text(body: Body, field: string): string {
  const value = optionalText(body, field);
  if (value !== undefined) return value;
  throw invalidField(field, `${field} is missing`);
}

/** Trimmed; undefined if absent. */
export function optionalText(body: Body, field: string): string | undefined {
  const value = body[field];
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined;
}
