/**
 * Keyless CI as the API sees it: verifications, connections, the exchange, and notes of refusals. A
 * person approves a workflow's identity; the workflow then exchanges its platform's signed token for
 * an access token. Answers hold secrets (a pairing code, an access token); commits hold only hashes
 * and claims.
 */
import type { Committed } from '../platform/host/host-port.ts';
import {
  deleteConnection,
  disableConnection,
  type EditConnection,
  editConnection,
  enableConnection,
  type NamedConnection,
} from './connections.ts';
import {
  type ExchangeDeps,
  type Exchanged,
  type ExchangeRequest,
  exchangeAssertion,
} from './exchange.ts';
import { RefusalNotes, type RefusalNotesDeps } from './refusal-notes.ts';
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

/**
 * Every method throws a `Refusal`, with those of the host; changes: NOT_FOUND, INVALID_FIELD,
 * INVALID_STATE, LIMIT_EXCEEDED, REQUEST_ID_REUSED.
 */
export interface KeylessCi {
  start(request: StartVerification): Promise<Committed<StartedVerification>>;
  /**
   * Proves an identity and grants nothing. Throws MALFORMED_CREDENTIAL for an unknown setup id or a
   * wrong code, alike for both; TOO_MANY_REQUESTS (`retryAfterSeconds`) for a source of too many
   * wrong codes; INVALID_STATE once the verification is over or its code was used; BAD_ASSERTION;
   * EXCHANGE_DENIED for a kind of run that is never trusted; NOT_READY.
   */
  submitProof(proof: SubmittedProof): Promise<ObservedProof>;
  /** Returns the id of the new connection. */
  approve(request: ApproveVerification): Promise<Committed<{ readonly connection: string }>>;
  reject(request: RejectVerification): Promise<Committed<Record<string, never>>>;
  edit(request: EditConnection): Promise<Committed<Record<string, never>>>;
  /** Changes nothing when it is disabled already. */
  disable(
    request: NamedConnection & { readonly reason: string },
  ): Promise<Committed<Record<string, never>>>;
  enable(request: NamedConnection): Promise<Committed<Record<string, never>>>;
  delete(request: NamedConnection): Promise<Committed<Record<string, never>>>;
  /**
   * Throws BAD_ASSERTION (`cause`), EXCHANGE_DENIED (`cause`, `correlation`, `claims`), and
   * NOT_READY when the issuer's keys are unavailable.
   */
  exchange(request: ExchangeRequest): Promise<Exchanged>;
  /** Required audience of the issuer's tokens for this project. */
  audienceOf(project: string): string;
  /** Resolves when no note of a refusal is being written. */
  settled(): Promise<void>;
  /** Writes the notes that are still held back. Call it before the host stops. */
  close(): Promise<void>;
}

export type KeylessCiOptions = Omit<
  ExchangeDeps & SubmitProofDeps & VerificationsDeps,
  'notes' | 'wrongCodes' | 'audienceOf'
> &
  Pick<RefusalNotesDeps, 'onLost'> & {
    /** Origin under which the service is reached, without a slash at its end. */
    readonly publicUrl: () => string;
  };

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
