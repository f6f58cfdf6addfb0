/**
 * Access to the plain HTTP routes below `/v1/monitoring/projects/<project>/`: a bearer credential
 * that may read exactly this project or, for PromQL, the session of a member with the Origin of
 * this service, which browsers send with a POST. A key of another project gets the same refusal
 * whether or not this project exists.
 */
import type { FastifyRequest } from 'fastify';
import { type Authenticator, checkAccess } from '../access/authenticator.ts';
import { admitTo, enterProject, READ_POLICY } from '../access/authorize.ts';
import type { Principal } from '../access/principal.ts';
import type { CallClass } from '../gate/call-classes.ts';
import type { GateCaller, Pass, ProjectGate } from '../gate/project-gate.ts';
import type { AnonymousLimits } from './anonymous-limits.ts';
import { SEQUENCE_HEADER, type SequenceDeps } from './sequence.ts';

export interface ReaderAccess extends SequenceDeps {
  readonly authenticator: Pick<
    Authenticator,
    'authenticate' | 'identify' | 'recordRefused' | 'revalidate'
  >;
  readonly anonymousLimits: Pick<AnonymousLimits, 'authenticated'>;
  readonly gate: ProjectGate;
}

/** An admitted request. */
export interface AdmittedReader {
  readonly caller: GateCaller;
  /**
   * Takes a slot of the project once the body has arrived; `bytes` of the request wait with it.
   * Throws a `Refusal`, also if the reader has lost access.
   */
  readonly takeSlot: (bytes: number) => Promise<Pass>;
  /** Throws a `Refusal` if the reader has lost access; call it before answering slow work. */
  readonly assertStillAdmitted: () => void;
}

export interface ReaderRequest {
  /** Id of the project in the URL. */
  readonly project: string;
  /** Its address and its headers. */
  readonly request: Pick<FastifyRequest, 'ip' | 'headers'>;
  readonly kind: CallClass;
  /** true: signed-in people may ask too. */
  readonly people: boolean;
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal;
}

/**
 * Admits a request to read the project, once this node has applied the position that it sends. The
 * handler then takes a slot, which checks access again: a body that arrives slowly must not outlive
 * a revocation. Rejects with a `Refusal`, or the reason of `signal`.
 */
export async function admitReader(
  access: ReaderAccess,
  { project, request: { ip, headers }, kind, people, signal }: ReaderRequest,
): Promise<AdmittedReader> {
  const { authenticator, anonymousLimits, gate } = access;
  const { authorization, cookie, origin, host } = headers;
  const principal = await anonymousLimits.authenticated<Principal>(ip, async () =>
    people
      ? authenticator.identify({ authorization, cookie, origin, host, address: ip })
      : authenticator.authenticate(authorization, ip),
  );
  checkAccess(authenticator, principal, () => enter(principal, project));
  const caller: GateCaller = { tenant: `projects/${project}`, name: principal.name };
  const wanted = headers[SEQUENCE_HEADER];
  if (typeof wanted === 'string') await access.positions.waitFor(wanted, { caller, signal });
  const assertStillAdmitted = (): void => enter(authenticator.revalidate(principal), project);
  const takeSlot = async (bytes: number): Promise<Pass> => {
    const pass = await gate.enter(caller, kind, signal, bytes);
    try {
      assertStillAdmitted();
      return pass;
    } catch (error) {
      pass.release();
      throw error;
    }
  };
  assertStillAdmitted();
  return { caller, takeSlot, assertStillAdmitted };
}

/** Memory of a waiting request, bytes: first line, headers, and its body as text. */
export function requestBytesOf({
  raw: { url = '', rawHeaders },
  body,
}: Pick<FastifyRequest, 'raw' | 'body'>): number {
  const headers = rawHeaders.reduce((sum, text) => sum + text.length, url.length);
  return typeof body === 'string' ? headers + Buffer.byteLength(body) : headers;
}

function enter(principal: Principal, project: string): void {
  const name = 'This URL';
  admitTo(name, READ_POLICY, principal);
  enterProject(principal, READ_POLICY, { name, project });
}
