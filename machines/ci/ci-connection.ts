/**
 * Machine of one approved CI connection: which workflow may exchange its signed token for access,
 * as which service account, with which permissions. Access tokens carry its epoch. A change that
 * narrows their permissions raises the epoch, which ends every earlier token. The bound identity
 * never changes: another workflow needs its own verification.
 */
import { assertEvent, assign, setup } from 'xstate';
import type { ObservedClaims } from './ci-verification.ts';

/** Input of a connection, from an approval. */
export interface CiConnectionInput {
  /** Unix ms of the commit that creates it. */
  readonly at: number;
  readonly project: string;
  /** Id of the service account. */
  readonly serviceAccount: string;
  readonly displayName: string;
  readonly capabilities: readonly string[];
  /** Name and URL of the configured issuer. */
  readonly issuer: string;
  readonly issuerUrl: string;
  readonly audience: string;
  /** Claims that each exchange must show exactly; null = the claim must be absent. */
  readonly bound: ObservedClaims;
  /** Id of the verification, and the approved digest. */
  readonly verification: string;
  readonly digest: string;
  readonly createdBy: string;
}

/** Row of a connection, besides its state. */
export interface CiConnectionContext extends Omit<CiConnectionInput, 'at'> {
  readonly tokenEpoch: number;
  /** Why it is disabled; null = it is not. */
  readonly disabledReason: string | null;
  readonly createdMs: number;
  readonly updatedMs: number;
  /** Unix ms; null = never. */
  readonly lastExchangeMs: number | null;
  readonly lastRefusalMs: number | null;
}

/** A claim that differs from the approved value, or is missing from the token. */
export interface CiClaimDifference {
  readonly claim: string;
  readonly difference: 'DIFFERENT' | 'MISSING';
}

/** Times in Unix ms. */
export type CiConnectionEvent =
  | {
      readonly type: 'edited';
      readonly at: number;
      readonly displayName: string;
      readonly capabilities: readonly string[];
      /** true when the permissions changed. */
      readonly permissionsChanged: boolean;
      readonly by: string;
    }
  | { readonly type: 'disabled'; readonly at: number; readonly reason: string; readonly by: string }
  | { readonly type: 'enabled'; readonly at: number; readonly by: string }
  /** Its service account was disabled. */
  | { readonly type: 'accountDisabled'; readonly at: number; readonly by: string }
  /** Earlier tokens are not trusted: one leaked, or a backup was restored. */
  | {
      readonly type: 'tokensEnded';
      readonly at: number;
      readonly reason: string;
      readonly by: string;
    }
  | { readonly type: 'deleted'; readonly at: number; readonly by: string }
  | {
      readonly type: 'exchanged';
      readonly at: number;
      /** `jti` of the access token. */
      readonly token: string;
      readonly expiresMs: number;
      /** Claims recorded for audit: actor, run, commit. */
      readonly recorded: ObservedClaims;
    }
  | {
      readonly type: 'exchangeRefused';
      readonly at: number;
      /** Also in the caller's refusal, so that the two can be matched. */
      readonly correlation: string;
      /** Refusals since the last such note, including these, by code. */
      readonly codes: Readonly<Record<string, number>>;
      /** Names of the claims that differ. */
      readonly claims: readonly string[];
      /**
       * How each one differs; both ways if two refusals differed in different ways. Absent in notes
       * of older versions.
       */
      readonly differences?: readonly CiClaimDifference[];
      /** Numbers of the refused runs on their platform, at most 5; absent if none was verified. */
      readonly runs?: readonly string[];
      /** Total of all codes. */
      readonly refusals: number;
    };

const chart = setup({
  types: {
    context: {} as CiConnectionContext,
    events: {} as CiConnectionEvent,
    input: {} as CiConnectionInput,
  },
  actions: {
    edit: assign(({ context, event }) => {
      assertEvent(event, 'edited');
      const { displayName, capabilities, permissionsChanged, at } = event;
      const tokenEpoch = context.tokenEpoch + (permissionsChanged ? 1 : 0);
      return { displayName, capabilities, tokenEpoch, updatedMs: at };
    }),
    endTokens: assign(({ context, event }) => ({
      tokenEpoch: context.tokenEpoch + 1,
      updatedMs: event.at,
    })),
    // A restored backup may lack later epochs. The new one is above any that was ever used.
    leaveEpochs: assign(({ context, event }) => ({
      tokenEpoch: Math.max(context.tokenEpoch + 1, event.at),
      updatedMs: event.at,
    })),
    recordDisabled: assign(({ event }) => {
      assertEvent(event, 'disabled');
      return { disabledReason: event.reason };
    }),
    recordEnabled: assign(({ event }) => ({ disabledReason: null, updatedMs: event.at })),
    recordExchanged: assign(({ event }) => ({ lastExchangeMs: event.at })),
    recordRefused: assign(({ event }) => ({ lastRefusalMs: event.at })),
  },
});

const always = {
  edited: {
    description: 'Its name or its permissions changed; changed permissions end its tokens.',
    actions: 'edit',
  },
  accountDisabled: {
    description: 'Its service account was disabled: its tokens end.',
    actions: 'endTokens',
  },
  tokensEnded: {
    description:
      'A token leaked, or a backup was restored: all tokens end, including unrecorded ones.',
    actions: 'leaveEpochs',
  },
  exchangeRefused: {
    description: 'An exchange was refused.',
    actions: 'recordRefused',
  },
  deleted: {
    description: 'It was deleted for good: its tokens end.',
    target: 'deleted',
    actions: 'endTokens',
  },
} as const;

/** The chart. Disabling can be undone, deletion cannot. */
export const ciConnectionMachine = chart.createMachine({
  id: 'ciConnection',
  description: 'A CI workflow that may act as a service account, as it was observed and approved.',
  context: ({ input }) => initialContext(input),
  initial: 'enabled',
  states: {
    enabled: {
      description: 'A matching workflow may exchange its identity for a 15-minute token.',
      on: {
        ...always,
        exchanged: {
          description: 'A workflow proved its identity and got a token.',
          actions: 'recordExchanged',
        },
        disabled: {
          description: 'It was disabled: its tokens end at once.',
          target: 'disabled',
          actions: ['endTokens', 'recordDisabled'],
        },
      },
    },
    disabled: {
      description: 'Every exchange is refused, and so are earlier tokens.',
      on: {
        ...always,
        enabled: {
          description: 'New exchanges work again; old tokens do not.',
          target: 'enabled',
          actions: 'recordEnabled',
        },
      },
    },
    deleted: { description: 'It was deleted.', type: 'final' },
  },
});

function initialContext(input: CiConnectionInput | undefined): CiConnectionContext {
  // xstate also calls this without input, for the throw-away actor of each transition.
  return {
    project: input?.project ?? '',
    serviceAccount: input?.serviceAccount ?? '',
    displayName: input?.displayName ?? '',
    capabilities: input?.capabilities ?? [],
    issuer: input?.issuer ?? '',
    issuerUrl: input?.issuerUrl ?? '',
    audience: input?.audience ?? '',
    bound: input?.bound ?? {},
    verification: input?.verification ?? '',
    digest: input?.digest ?? '',
    createdBy: input?.createdBy ?? '',
    tokenEpoch: 1,
    disabledReason: null,
    createdMs: input?.at ?? 0,
    updatedMs: input?.at ?? 0,
    lastExchangeMs: null,
    lastRefusalMs: null,
  };
}
