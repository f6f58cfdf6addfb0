/**
 * Machine of one verification of a CI workflow's identity. A pairing code proves that whoever runs
 * the workflow knows the code. The platform's signed token proves which workflow ran. A
 * verification grants nothing: only an approval of exactly the observed claims makes a connection.
 * The code is valid for one observation; another observation needs a new verification with its own
 * code.
 */
import { assertEvent, assign, setup } from 'xstate';

/** How long a verification waits for proof and review, ms (LIMIT-10: 30 minutes). */
export const CI_VERIFICATION_MS = 30 * 60_000;

/** Observed claims, by name; null = the token did not have the claim. */
export type ObservedClaims = Readonly<Record<string, string | null>>;

/** Input of a verification. */
export interface CiVerificationInput {
  /** Unix ms of the commit that creates it. */
  readonly at: number;
  readonly project: string;
  /** Id of the service account. */
  readonly serviceAccount: string;
  readonly displayName: string;
  readonly capabilities: readonly string[];
  /** Name of the configured issuer, e.g. `github`, and its URL. */
  readonly issuer: string;
  readonly issuerUrl: string;
  readonly audience: string;
  /** Hash of the pairing code, hex SHA-256. */
  readonly codeHash: string;
  readonly createdBy: string;
}

/** Identity that a workflow proved. */
export interface CiObservation {
  /** Claims that a connection would bind. */
  readonly bound: ObservedClaims;
  /** Claims kept only for review and audit. */
  readonly recorded: ObservedClaims;
  /** Digest of both, hex SHA-256, which an approval names. */
  readonly digest: string;
  readonly warnings: readonly string[];
}

/** A proof with the right pairing code that was not accepted. */
export interface CiRefusedProof {
  /** Reason and cause, e.g. `PULL_REQUEST` or `BAD_ASSERTION WRONG_AUDIENCE`. */
  readonly code: string;
  /** Unix ms. */
  readonly atMs: number;
  /** Names of the claims that caused the refusal. */
  readonly claims: readonly string[];
}

/** Row of a verification; of the pairing code it has only the hash. */
export interface CiVerificationContext extends Omit<CiVerificationInput, 'at'> {
  readonly createdMs: number;
  /** End of both waits, Unix ms. */
  readonly expiresMs: number;
  /** Recorded wrong pairing codes; those of the last minute may be missing. */
  readonly wrongCodes: number;
  readonly observation: CiObservation | null;
  readonly observedMs: number | null;
  /** The last recorded one; at most one per minute is recorded. */
  readonly lastRefusal: CiRefusedProof | null;
  /** Id of the connection made by the approval. */
  readonly connection: string | null;
  readonly reason: string | null;
  readonly updatedMs: number;
}

/** Times in Unix ms. */
export type CiVerificationEvent =
  | ({ readonly type: 'proofSubmitted'; readonly at: number } & CiObservation)
  | { readonly type: 'wrongCodesSent'; readonly at: number; readonly codes: number }
  | {
      readonly type: 'proofRefused';
      readonly at: number;
      readonly code: string;
      readonly claims: readonly string[];
    }
  | {
      readonly type: 'approved';
      readonly at: number;
      readonly connection: string;
      readonly capabilities: readonly string[];
      readonly digest: string;
      readonly by: string;
    }
  | {
      readonly type: 'rejected';
      readonly at: number;
      readonly reason: string;
      readonly by: string;
    };

const chart = setup({
  types: {
    context: {} as CiVerificationContext,
    events: {} as CiVerificationEvent,
    input: {} as CiVerificationInput,
  },
  actions: {
    keepObservation: assign(({ event }) => {
      assertEvent(event, 'proofSubmitted');
      const { bound, recorded, digest, warnings, at } = event;
      const observation = { bound, recorded, digest, warnings };
      return { observation, observedMs: at, updatedMs: at };
    }),
    countWrongCodes: assign(({ context, event }) => {
      assertEvent(event, 'wrongCodesSent');
      return { wrongCodes: context.wrongCodes + event.codes, updatedMs: event.at };
    }),
    recordRefused: assign(({ event }) => {
      assertEvent(event, 'proofRefused');
      const { code, claims, at } = event;
      return { lastRefusal: { code, claims, atMs: at }, updatedMs: at };
    }),
    recordApproved: assign(({ event }) => {
      assertEvent(event, 'approved');
      return { connection: event.connection, updatedMs: event.at };
    }),
    recordRejected: assign(({ event }) => {
      assertEvent(event, 'rejected');
      return { reason: event.reason, updatedMs: event.at };
    }),
  },
  guards: {
    isWhatWasReviewed: ({ context, event }) =>
      event.type === 'approved' && event.digest === context.observation?.digest,
  },
  delays: {
    deadline: ({ context, event }) =>
      // The first event, xstate.init, has no time of its own, so the creation time is used.
      Math.max(0, context.expiresMs - (event.at ?? context.createdMs)),
  },
});

const waiting = {
  after: { deadline: { description: '30 minutes have passed.', target: 'expired' } },
} as const;

const rejected = {
  description: 'A person rejected it, or its pairing code leaked.',
  target: 'rejected',
  actions: 'recordRejected',
} as const;

/** The chart. Every path ends in a final state, at the latest on expiry. */
export const ciVerificationMachine = chart.createMachine({
  id: 'ciVerification',
  description: 'Proof of which CI workflow a project is about to trust. It grants nothing.',
  context: ({ input }) => initialContext(input),
  initial: 'awaitingProof',
  states: {
    awaitingProof: {
      ...waiting,
      description: 'Waits for the workflow to run its verification step.',
      on: {
        proofSubmitted: {
          description: 'The workflow showed the pairing code and its identity.',
          target: 'observed',
          actions: 'keepObservation',
        },
        proofRefused: {
          description:
            'The pairing code was right but the identity token was not: recorded for the reviewer.',
          actions: 'recordRefused',
        },
        wrongCodesSent: {
          description:
            'Wrong pairing codes were sent: recorded for the reviewer; no one is locked out.',
          actions: 'countWrongCodes',
        },
        rejected,
      },
    },
    observed: {
      ...waiting,
      description: 'An identity was observed and waits for review. The pairing code is used up.',
      on: {
        approved: {
          description: 'A person approved exactly what was observed.',
          guard: 'isWhatWasReviewed',
          target: 'approved',
          actions: 'recordApproved',
        },
        rejected,
      },
    },
    approved: { description: 'It became a connection.', type: 'final' },
    rejected: { description: 'It was rejected.', type: 'final' },
    expired: { description: 'It was not approved in time.', type: 'final' },
  },
});

function initialContext(input: CiVerificationInput | undefined): CiVerificationContext {
  // xstate also calls this without input, for the throw-away actor of each transition.
  const createdMs = input?.at ?? 0;
  return {
    project: input?.project ?? '',
    serviceAccount: input?.serviceAccount ?? '',
    displayName: input?.displayName ?? '',
    capabilities: input?.capabilities ?? [],
    issuer: input?.issuer ?? '',
    issuerUrl: input?.issuerUrl ?? '',
    audience: input?.audience ?? '',
    codeHash: input?.codeHash ?? '',
    createdBy: input?.createdBy ?? '',
    createdMs,
    expiresMs: createdMs + CI_VERIFICATION_MS,
    wrongCodes: 0,
    observation: null,
    observedMs: null,
    lastRefusal: null,
    connection: null,
    reason: null,
    updatedMs: createdMs,
  };
}
