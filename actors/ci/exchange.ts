/**
 * Exchange of a workflow's signed identity for an access token of 15 minutes:
 *
 *   verify the assertion -> burn its id -> compare, check states -> commit -> sign
 *
 * An unknown trust name takes the same path up to the comparison, as one of the default issuer. Its
 * answer is that of a mismatch, takes as long, and has an empty list of claims. That list, or a
 * refusal of the issuer where several are configured, may show a job with a genuine token for this
 * project which names exist; names are no secret. Nobody waits for the note of a refusal. States are
 * checked again inside the commit, so that no token is made after a revocation was acknowledged.
 */
import type { CiConnectionContext } from '../../machines/ci/ci-connection.ts';
import type { Clock } from '../../streams/platform/clock.ts';
import { type Random, ulid } from '../../streams/platform/random.ts';
import { Refusal } from '../../streams/platform/refusal.ts';
import { type Grants, grantsOf } from '../identity/grants.ts';
import type { Committed, Host, Instance, ProjectView } from '../platform/host/host-port.ts';
import {
  defaultIssuer,
  type ProofDeps,
  proveIdentity,
  type VerifiedAssertion,
} from './assertion.ts';
import {
  connectionDenial,
  contextDenial,
  type Denial,
  type DenialCause,
  deniedExchange,
  refusedExchange,
  UNKNOWN_TRUST,
} from './denial.ts';
import type { RefusalNotes, RefusedExchange } from './refusal-notes.ts';

const MACHINE = 'ciConnection';

/** Lifetime of an access token (LIMIT-09), ms. */
export const ACCESS_TOKEN_MS = 15 * 60_000;

/** Contents of an access token. */
export interface AccessTokenClaims {
  /** `jti`: id of the exchange, also in the audit. */
  readonly token: string;
  readonly project: string;
  /** Id of the connection that it acts for. */
  readonly connection: string;
  /** Epoch of the connection when it was made. */
  readonly tokenEpoch: number;
  readonly expiresMs: number;
}

/** What became of an exchange: label of its count. */
export type ExchangeOutcome =
  | 'EXCHANGED'
  | 'UNKNOWN_TRUST'
  | 'BAD_ASSERTION'
  | 'REPLAYED'
  | 'NOT_READY'
  | DenialCause;

export interface ExchangeDeps extends ProofDeps {
  readonly host: Pick<Host, 'view' | 'submit'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly tokens: { sign(claims: AccessTokenClaims): Promise<string> };
  readonly notes: RefusalNotes;
  readonly audienceOf: (project: string) => string;
  /** Called once for each exchange. */
  readonly count: (outcome: ExchangeOutcome) => void;
}

export interface ExchangeRequest {
  readonly project: string;
  /** Id of the connection, as the caller gives it. */
  readonly connection: string;
  readonly assertion: string;
}

export interface Exchanged {
  /** A bearer for 15 minutes; shown once. */
  readonly accessToken: string;
  readonly expiresMs: number;
  /** Position in EVENTS of the commit that recorded it. */
  readonly sequence: number;
}

export async function exchangeAssertion(
  deps: ExchangeDeps,
  request: ExchangeRequest,
): Promise<Exchanged> {
  const { project, connection: id } = request;
  const view = deps.host.view(project);
  const row = view.instance(MACHINE, id);
  const verified = await prove(deps, request, row);
  // The row may have changed since it was read: the commit below checks it again.
  const denial = denialOf(view, row, verified);
  if (denial) throw deny(deps, row, denial);
  const granted = await commitExchange(deps, { project, id }, verified);
  if ('cause' in granted.answer) throw deny(deps, row, granted.answer);
  const accessToken = await deps.tokens.sign({ ...granted.answer, project, connection: id });
  deps.count('EXCHANGED');
  return { accessToken, expiresMs: granted.answer.expiresMs, sequence: granted.sequence };
}

/** An unknown trust name is treated as one of the default issuer. */
async function prove(
  deps: ExchangeDeps,
  { project, assertion }: ExchangeRequest,
  connection: Instance<'ciConnection'> | undefined,
): Promise<VerifiedAssertion> {
  const { issuer, audience } = connection
    ? contextOf(connection)
    : { issuer: defaultIssuer(deps.assertions), audience: deps.audienceOf(project) };
  try {
    return await proveIdentity(deps, assertion, { issuer, audience });
  } catch (error) {
    if (error instanceof Refusal && error.reason === 'BAD_ASSERTION') {
      throw badAssertion(deps, connection, error);
    }
    deps.count('NOT_READY');
    throw error;
  }
}

function badAssertion(
  { notes, count }: ExchangeDeps,
  connection: Instance<'ciConnection'> | undefined,
  refusal: Refusal,
): Refusal {
  count(refusal.metadata.cause === 'REPLAYED' ? 'REPLAYED' : 'BAD_ASSERTION');
  const correlation = noteRefusal(notes, connection, refusedExchange(refusal));
  return new Refusal(refusal.reason, refusal.message, { ...refusal.metadata, correlation });
}

function denialOf(
  view: ProjectView,
  connection: Instance<'ciConnection'> | undefined,
  verified: VerifiedAssertion,
): Denial | undefined {
  const refused = contextDenial(verified.claims);
  if (refused) return refused;
  if (!connection) return UNKNOWN_TRUST;
  return connectionDenial(connection, grantsOfConnection(view, connection), verified);
}

/** Counts and notes a denial; returns the refusal for the caller. */
function deny(
  { notes, count }: ExchangeDeps,
  connection: Instance<'ciConnection'> | undefined,
  denial: Denial,
): Refusal {
  count(connection ? denial.cause : 'UNKNOWN_TRUST');
  const claims = denial.claims.map(({ claim }) => claim);
  return deniedExchange(denial, noteRefusal(notes, connection, { code: denial.cause, claims }));
}

/** The correlation id: that of the note, if there is a connection to note it on. */
function noteRefusal(
  notes: RefusalNotes,
  connection: Instance<'ciConnection'> | undefined,
  refused: RefusedExchange,
): string {
  return connection && !connection.final ? notes.add(connection, refused) : notes.correlation();
}

type GrantedToken = Pick<AccessTokenClaims, 'token' | 'tokenEpoch' | 'expiresMs'>;

/** Commits nothing when the exchange is denied at the head. */
function commitExchange(
  { host, clock, random }: ExchangeDeps,
  { project, id }: { readonly project: string; readonly id: string },
  verified: VerifiedAssertion,
): Promise<Committed<GrantedToken | Denial>> {
  const token = ulid(clock.now(), random);
  return host.submit<GrantedToken | Denial>({
    project,
    by: { kind: 'ci', name: `projects/${project}/ciConnections/${id}` },
    decide(draft) {
      const row = draft.instance(MACHINE, id);
      const denial = denialOf(draft, row, verified);
      if (denial) return denial;
      const expiresMs = draft.at + ACCESS_TOKEN_MS;
      const { recorded } = verified.claims;
      const event = { type: 'exchanged', at: draft.at, token, expiresMs, recorded } as const;
      const { instance } = draft.send(MACHINE, id, event);
      return { token, expiresMs, tokenEpoch: contextOf(instance).tokenEpoch };
    },
  });
}

function grantsOfConnection(view: ProjectView, connection: Instance<'ciConnection'>): Grants {
  const { serviceAccount: id } = contextOf(connection);
  return grantsOf(view, { project: view.project, machine: 'serviceAccount', id });
}

function contextOf({ context }: Instance<'ciConnection'>): CiConnectionContext {
  return context;
}
