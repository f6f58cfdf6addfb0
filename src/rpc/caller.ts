/**
 * Who calls, as the handlers see it: put into the call's context by the access interceptor, never
 * read from the message. `within` is how a handler comes to a project: no other way exists.
 */
import { createHash } from 'node:crypto';
import { type DescMessage, type MessageShape, toBinary } from '@bufbuild/protobuf';
import { createContextKey, type HandlerContext } from '@connectrpc/connect';
import type { RequestKey } from '../../actors/alerting/port.ts';
import type { Actor } from '../../streams/commit/commit.ts';
import { Refusal } from '../../streams/refusal.ts';
import type { Principal } from '../auth/authenticator.ts';

export const principalKey = createContextKey<Principal | undefined>(undefined, {
  description: 'who calls',
});

/** The caller. Throws an Error when the access interceptor did not run: a bug. */
export function callerOf(context: HandlerContext): Principal {
  const principal = context.values.get(principalKey);
  if (!principal) throw new Error('A handler ran without the access interceptor');
  return principal;
}

/** The project id, if it is the caller's own. Throws PROJECT_BOUNDARY otherwise. */
export function within(context: HandlerContext, project: string): string {
  if (callerOf(context).project === project) return project;
  throw new Refusal('PROJECT_BOUNDARY', 'The credential belongs to another project');
}

export function actorOf(context: HandlerContext): Actor {
  const { kind, project, credential } = callerOf(context);
  const isCollector = kind === 'col';
  return {
    kind: isCollector ? 'collector' : 'key',
    name: `projects/${project}/keys/${credential}`,
  };
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Checks a UUID of the client's. Throws INVALID_FIELD. */
export function checkUuid(field: string, value: string): void {
  if (UUID.test(value)) return;
  const seen = value === '' ? 'missing' : 'not a UUID';
  throw new Refusal(
    'INVALID_FIELD',
    `${field} is ${seen}: make a new UUID, and keep it for retries`,
    {
      field,
    },
  );
}

/** The request's key: an exact resend has the same id and the same digest of method and message. */
export function requestKeyOf<D extends DescMessage>(
  context: HandlerContext,
  schema: D,
  message: MessageShape<D> & { requestId: string },
): RequestKey {
  checkUuid('requestId', message.requestId);
  const { project, credential } = callerOf(context);
  const digest = createHash('sha256').update(`${context.method.name}\n`);
  return {
    scope: `${project}/${credential}`,
    id: message.requestId,
    fingerprint: digest.update(toBinary(schema, message)).digest('hex'),
  };
}
