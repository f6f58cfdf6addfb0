/**
 * One verification of a CI workflow's identity: a pairing code proves that whoever runs the
 * workflow was shown it, the platform's signed token proves which workflow ran. It grants nothing;
 * only an approval of exactly what was observed makes a connection. A second observation replaces
 * the first: the two never merge.
 */
import { assertEvent, assign, setup } from 'xstate';

/** How long a verification waits for proof and review, ms (interface, section 8: 30 minutes). */
export const CI_VERIFICATION_MS = 30 * 60_000;
/** Wrong pairing codes that a verification bears before it is closed. */
export const CI_CODE_ATTEMPTS_MAX = 5;

/** Claims as observed, by name; a claim that the token did not have is null. */
export type ObservedClaims = Readonly<Record<string, string | null>>;

export interface CiVerificationInput {
  /** Unix ms of the commit that creates it. */
  readonly at: number;
  readonly project: string;
  /** Id of the service account. */
  readonly serviceAccount: string;
  readonly displayName: string;
  readonly capabilities: readonly string[];
  /** Name of the configured issuer, e.g. `github`, and the URL that it stood for. */
  readonly issuer: string;
  readonly issuerUrl: string;
  readonly audience: string;
  /** Of the pairing code, hex SHA-256. */
  readonly codeHash: string;
  readonly createdBy: string;
}

/** What a workflow proved. */
export interface CiObservation {
  /** Claims that a connection would bind. */
  readonly bound: ObservedClaims;
  /** Claims that are kept for review and audit alone. */
  readonly recorded: ObservedClaims;
  /** Of both, hex SHA-256: an approval names it. */
  readonly digest: string;
  readonly warnings: readonly string[];
}

/** A proof with the right pairing code that was not accepted. */
export interface CiRefusedProof {
  /** Reason and cause, e.g. `PULL_REQUEST` or `BAD_ASSERTION WRONG_AUDIENCE`. */
  readonly code: string;
  /** Unix ms. */
  readonly atMs: number;
  /** Names of the claims that it was refused for. */
  readonly claims: readonly string[];
}

export interface CiVerificationContext extends Omit<CiVerificationInput, 'at'> {
  readonly createdMs: number;
  /** End of both waits, Unix ms. */
  readonly expiresMs: number;
  readonly wrongCodes: number;
  readonly observation: CiObservation | null;
  readonly observedMs: number | null;
  /** The last that was noted: one a minute is. */
  readonly lastRefusal: CiRefusedProof | null;
  /** Id of the connection that the approval made. */
  readonly connection: string | null;
  readonly reason: string | null;
  readonly updatedMs: number;
}

/** Times in Unix ms. */
export type CiVerificationEvent =
  | ({ readonly type: 'proofSubmitted'; readonly at: number } & CiObservation)
  | { readonly type: 'wrongCode'; readonly at: number }
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
    countWrongCode: assign(({ context, event }) => ({
      wrongCodes: context.wrongCodes + 1,
      updatedMs: event.at,
    })),
    noteRefused: assign(({ event }) => {
      assertEvent(event, 'proofRefused');
      const { code, claims, at } = event;
      return { lastRefusal: { code, claims, atMs: at }, updatedMs: at };
    }),
    noteClosed: assign({ reason: 'Too many wrong pairing codes' }),
    noteApproved: assign(({ event }) => {
      assertEvent(event, 'approved');
      return { connection: event.connection, updatedMs: event.at };
    }),
    noteRejected: assign(({ event }) => {
      assertEvent(event, 'rejected');
      return { reason: event.reason, updatedMs: event.at };
    }),
  },
  guards: {
    isLastAttempt: ({ context }) => context.wrongCodes + 1 >= CI_CODE_ATTEMPTS_MAX,
    isWhatWasReviewed: ({ context, event }) =>
      event.type === 'approved' && event.digest === context.observation?.digest,
  },
  delays: {
    deadline: ({ context, event }) =>
      // The first event of all, xstate.init, carries no time: it is that of the creation.
      Math.max(0, context.expiresMs - (event.at ?? context.createdMs)),
  },
});

const waiting = {
  after: { deadline: { description: '30 minutes have passed.', target: 'expired' } },
} as const;

const wrongCode = [
  {
    description: 'One wrong pairing code too many: nobody can go on guessing.',
    guard: 'isLastAttempt',
    target: 'closed',
    actions: ['countWrongCode', 'noteClosed'],
  },
  { description: 'Somebody sent a wrong pairing code.', actions: 'countWrongCode' },
] as const;

const proofRefused = {
  description: 'The pairing code was right and the identity token was not: kept for the reviewer.',
  actions: 'noteRefused',
} as const;

const rejected = {
  description: 'A person looked at it and refused.',
  target: 'rejected',
  actions: 'noteRejected',
} as const;

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
        proofRefused,
        wrongCode,
        rejected,
      },
    },
    observed: {
      ...waiting,
      description: 'An identity was observed and waits for review.',
      on: {
        proofSubmitted: {
          description: 'The step ran again: what it showed now replaces what it showed before.',
          actions: 'keepObservation',
        },
        proofRefused,
        wrongCode,
        approved: {
          description: 'A person approved exactly what was observed.',
          guard: 'isWhatWasReviewed',
          target: 'approved',
          actions: 'noteApproved',
        },
        rejected,
      },
    },
    approved: { description: 'It became a connection.', type: 'final' },
    rejected: { description: 'It was refused.', type: 'final' },
    expired: { description: 'It was not approved in time.', type: 'final' },
    closed: { description: 'Its pairing code was guessed at too often.', type: 'final' },
  },
});

function initialContext(input: CiVerificationInput | undefined): CiVerificationContext {
  // xstate also calls this without input, for a throw-away actor of each transition.
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
