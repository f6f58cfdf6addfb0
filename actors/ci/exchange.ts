/**
 * Exchange of a workflow's signed identity for an access token of 15 minutes:
 *
 *   verify the assertion -> burn its id -> compare, check states -> commit -> sign
 *
 * An unknown trust name takes the same path up to the comparison, as if it belonged to the default
 * issuer. The response is that of a mismatch: it takes as long, and its list of claims is empty.
 * That list, or a refusal of the issuer if several are configured, may reveal existing names to a
 * job with a genuine token for this project; names are not secret. No caller waits for the note of
 * a refusal. States are checked again inside the commit, so that no token is made after a
 * revocation was acknowledged.
 */
import type { Clock } from '../../streams/platform/clock.ts';
import { type Random, ulid } from '../../streams/platform/random.ts';
import { Refusal } from '../../streams/platform/refusal.ts';
import { type Grants, grantsOf } from '../identity/grants.ts';
import type { Committed, Host, Instance, ProjectView } from '../platform/host/host-port.ts';
import {
  connectionDenial,
  contextDenial,
  type Denial,
  type DenialCause,
  defaultIssuer,
  deniedExchange,
  differencesIn,
  type ProofDeps,
  proveIdentity,
  refusedExchange,
  UNKNOWN_TRUST,
  type VerifiedAssertion,
} from './assertion.ts';
import {
  deleteConnection,
  disableConnection,
  type EditConnection,
  editConnection,
  enableConnection,
  type NamedConnection,
} from './connections.ts';
import { RefusalNotes, type RefusalNotesDeps, type RefusedExchange } from './refusal-notes.ts';
import {
  type ObservedProof,
  type SubmitProofDeps,
  type SubmittedProof,
  submitProof,
  WrongCodes,
} from './submit-proof.ts';
import {
  type ApproveVerification,
  approveVerification,
  type RejectVerification,
  rejectVerification,
  type StartedVerification,
  type StartVerification,
  startVerification,
  type VerificationsDeps,
} from './verifications.ts';

const MACHINE = 'ciConnection';

/** Lifetime of an access token (LIMIT-09), ms. */
export const ACCESS_TOKEN_MS = 15 * 60_000;

/** Contents of an access token. */
export interface AccessTokenClaims {
  /** `jti`: id of the exchange, also in the audit. */
  readonly token: string;
  readonly project: string;
  /** Id of the connection for which it acts. */
  readonly connection: string;
  /** Epoch of the connection when the token was made. */
  readonly tokenEpoch: number;
  readonly expiresMs: number;
}

/** Outcome of an exchange: label of its count. */
export type ExchangeOutcome =
  | 'EXCHANGED'
  | 'UNKNOWN_TRUST'
  | 'BAD_ASSERTION'
  | 'REPLAYED'
  | 'NOT_READY'
  | DenialCause;

/**
 * Dependencies of an exchange besides the proof: rows to compare with, and the signer of the token.
 */
export interface ExchangeDeps extends ProofDeps {
  readonly host: Pick<Host, 'view' | 'submit'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly tokens: { sign(claims: AccessTokenClaims): Promise<string> };
  readonly notes: RefusalNotes;
  readonly audienceOf: (project: string) => string;
  /** Called once per exchange. */
  readonly count: (outcome: ExchangeOutcome) => void;
}

/** The request of a workflow. Nothing in it is trusted before the assertion was verified. */
export interface ExchangeRequest {
  readonly project: string;
  /** Id of the connection, as given by the caller. */
  readonly connection: string;
  readonly assertion: string;
}

/** The response for the workflow. */
export interface Exchanged {
  /** A bearer token for 15 minutes; returned once. */
  readonly accessToken: string;
  readonly expiresMs: number;
  /** Position in EVENTS of the commit that recorded it. */
  readonly sequence: number;
}

async function exchangeAssertion(deps: ExchangeDeps, request: ExchangeRequest): Promise<Exchanged> {
  const { project, connection: id } = request;
  const view = deps.host.view(project);
  const row = view.instance(MACHINE, id);
  const verified = await prove(deps, request, row);
  // The row may have changed since it was read; the commit below checks it again.
  const denial = denialOf(view, row, verified);
  if (denial) throw deny(deps, row, denial, verified);
  const granted = await commitExchange(deps, { project, id }, verified);
  if ('cause' in granted.answer) throw deny(deps, row, granted.answer, verified);
  const accessToken = await deps.tokens.sign({ ...granted.answer, project, connection: id });
  deps.count('EXCHANGED');
  return { accessToken, expiresMs: granted.answer.expiresMs, sequence: granted.sequence };
}

/** An unknown trust name is treated like one of the default issuer. */
async function prove(
  deps: ExchangeDeps,
  { project, assertion }: ExchangeRequest,
  connection: Instance<'ciConnection'> | undefined,
): Promise<VerifiedAssertion> {
  const { issuer, audience } = connection
    ? connection.context
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
  const correlation = recordRefusal(notes, connection, refusedExchange(refusal));
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

/** Counts and records a denial. Returns the refusal for the caller. */
function deny(
  { notes, count }: ExchangeDeps,
  connection: Instance<'ciConnection'> | undefined,
  denial: Denial,
  { claims: { run } }: VerifiedAssertion,
): Refusal {
  count(connection ? denial.cause : 'UNKNOWN_TRUST');
  const differences = differencesIn(denial.claims);
  const note = { code: denial.cause, differences, ...(run !== null && { run }) };
  return deniedExchange(denial, recordRefusal(notes, connection, note));
}

/** The correlation id: that of the note, if there is a connection on which to record it. */
function recordRefusal(
  notes: RefusalNotes,
  connection: Instance<'ciConnection'> | undefined,
  refused: RefusedExchange,
): string {
  return connection && !connection.final ? notes.add(connection, refused) : notes.correlation();
}

type GrantedToken = Pick<AccessTokenClaims, 'token' | 'tokenEpoch' | 'expiresMs'>;

/** Commits nothing if the exchange is denied at the head. */
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
      return { token, expiresMs, tokenEpoch: instance.context.tokenEpoch };
    },
  });
}

function grantsOfConnection(view: ProjectView, connection: Instance<'ciConnection'>): Grants {
  const { serviceAccount: id } = connection.context;
  return grantsOf(view, { project: view.project, machine: 'serviceAccount', id });
}

// Assembles keyless CI for the API: verifications, connections, the exchange, and notes of
// refusals. A person approves a workflow's identity; the workflow then exchanges its platform's
// signed token for an access token. Responses contain secrets (a pairing code, an access token);
// commits contain only hashes and claims.

/**
 * Every method throws a `Refusal`, including those of the host. Changes throw NOT_FOUND,
 * INVALID_FIELD, INVALID_STATE, LIMIT_EXCEEDED, REQUEST_ID_REUSED.
 */
export interface KeylessCi {
  start(request: StartVerification): Promise<Committed<StartedVerification>>;
  /**
   * Proves an identity and grants nothing. Throws MALFORMED_CREDENTIAL for an unknown setup id or a
   * wrong code, without distinction; TOO_MANY_REQUESTS (`retryAfterSeconds`) for a source of too
   * many wrong codes; INVALID_STATE once the verification has ended or its code was used;
   * BAD_ASSERTION; EXCHANGE_DENIED for a kind of run that is never trusted; NOT_READY.
   */
  submitProof(proof: SubmittedProof): Promise<ObservedProof>;
  /** Returns the id of the new connection. */
  approve(request: ApproveVerification): Promise<Committed<{ readonly connection: string }>>;
  reject(request: RejectVerification): Promise<Committed<Record<string, never>>>;
  edit(request: EditConnection): Promise<Committed<Record<string, never>>>;
  /** Changes nothing if it is already disabled. */
  disable(
    request: NamedConnection & { readonly reason: string },
  ): Promise<Committed<Record<string, never>>>;
  enable(request: NamedConnection): Promise<Committed<Record<string, never>>>;
  delete(request: NamedConnection): Promise<Committed<Record<string, never>>>;
  /**
   * Throws BAD_ASSERTION (`cause`), EXCHANGE_DENIED (`cause`, `correlation`, `claims`), and
   * NOT_READY if the issuer's keys are unavailable.
   */
  exchange(request: ExchangeRequest): Promise<Exchanged>;
  /** Required audience of the issuer's tokens for this project. */
  audienceOf(project: string): string;
  /** Resolves when no note of a refusal is being written. */
  settled(): Promise<void>;
  /** Writes the pending notes. Call it before the host stops. */
  close(): Promise<void>;
}

/** Ports of all parts of this room. */
export type KeylessCiOptions = Omit<
  ExchangeDeps & SubmitProofDeps & VerificationsDeps,
  'notes' | 'wrongCodes' | 'audienceOf'
> &
  Pick<RefusalNotesDeps, 'onLost'> & {
    /** Public origin of the service, without a trailing slash. */
    readonly publicUrl: () => string;
  };

/**
 * Opens the room: verifications, connections and exchanges. `close` writes the pending notes of
 * refusals.
 */
export function createKeylessCi(options: KeylessCiOptions): KeylessCi {
  // Unique for each deployment and project: a token for one cannot be used in another.
  const audienceOf = (project: string): string => `${options.publicUrl()}/projects/${project}`;
  const notes = new RefusalNotes(options);
  const wrongCodes = new WrongCodes(options.clock);
  const deps = { ...options, notes, wrongCodes, audienceOf };
  return {
    audienceOf,
    start: (request) => startVerification(deps, request),
    submitProof: (proof) => submitProof(deps, proof),
    approve: (request) => approveVerification(deps, request),
    reject: (request) => rejectVerification(deps, request),
    edit: (request) => editConnection(deps, request),
    disable: (request) => disableConnection(deps, request),
    enable: (request) => enableConnection(deps, request),
    delete: (request) => deleteConnection(deps, request),
    exchange: (request) => exchangeAssertion(deps, request),
    settled: () => notes.settled(),
    close: () => notes.close(),
  };
}
