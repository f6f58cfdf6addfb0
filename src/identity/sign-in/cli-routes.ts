/**
 * Sign-in of the command line by the browser (RFC 8252, section 7.3). A signed-in person confirms, and
 * the browser carries a one-time code to the port on which `svc login` listens. The code is useless
 * without the verifier that the command line keeps (RFC 7636).
 */
import type { FastifyInstance } from 'fastify';
import { invalidField, Refusal } from '../../../streams/platform/refusal.ts';
import { sendPage } from './answers.ts';
import { type CliRequest, cliPage } from './pages.ts';
import { fieldsOf, locationOf } from './request-fields.ts';
import type { AuthScope } from './scope.ts';

const LINKS = { burst: 10, refillMs: 6_000 };

export function addCliRoutes(scope: FastifyInstance, shared: AuthScope): void {
  const { visitors, origin, people, limited } = shared;
  scope.route({
    ...{ method: 'GET', url: '/cli', exposeHeadRoute: false },
    async handler(request, reply) {
      const requested = validateCliRequest(request.query as Readonly<Record<string, unknown>>);
      if (await visitors.sessionOf(request, reply)) return sendPage(reply, 200, cliPage(requested));
      const here = `/auth/cli?${new URLSearchParams({ ...requested, port: String(requested.port) })}`;
      const query = new URLSearchParams({ return: here });
      return reply.redirect(locationOf(origin(), `/auth/sign-in?${query}`), 303);
    },
  });
  scope.post('/cli', { onRequest: limited(LINKS) }, async (request, reply) => {
    const requested = validateCliRequest(fieldsOf(request, ['port', 'state', 'challenge']));
    const session = await visitors.sessionOf(request, reply);
    if (!session) {
      throw new Refusal('MISSING_CREDENTIAL', 'You are not signed in: run svc login again');
    }
    const { person, session: id } = session;
    const by = { kind: 'human', name: `people/${person}` } as const;
    const { token } = await people.linkFor(by, person, 'cli', {
      ...{ challenge: requested.challenge, session: id },
    });
    const query = new URLSearchParams({ state: requested.state, code: token });
    return reply.redirect(`http://127.0.0.1:${requested.port}/?${query}`, 303);
  });
}

const PORT = /^[1-9]\d{0,4}$/;
const STATE = /^[\w-]{16,128}$/;
/** SHA-256 in base64url. */
const CHALLENGE = /^[\w-]{43}$/;

/** Throws INVALID_FIELD. */
function validateCliRequest(fields: Readonly<Record<string, unknown>>): CliRequest {
  const port = Number(textOf(fields, 'port', PORT));
  if (port > 65_535) throw bad('port');
  return {
    port,
    state: textOf(fields, 'state', STATE),
    challenge: textOf(fields, 'challenge', CHALLENGE),
  };
}

function textOf(fields: Readonly<Record<string, unknown>>, name: string, form: RegExp): string {
  const value = fields[name];
  if (typeof value === 'string' && form.test(value)) return value;
  throw bad(name);
}

function bad(field: string): Refusal {
  const message = `${field} has not the form that svc login sends: run svc login again`;
  return invalidField(field, message);
}
