/**
 * One approved CI connection: which workflow identity may exchange its signed token for access, as
 * which service account, with which permissions. Access tokens carry its epoch; whatever narrows
 * what they may do raises it, so that every token given out before is refused from then on. Its
 * identity never changes: another workflow needs a verification of its own.
 */
import { assertEvent, assign, setup } from 'xstate';
import type { ObservedClaims } from './ci-verification.ts';

export interface CiConnectionInput {
  /** Unix ms of the commit that creates it. */
  readonly at: number;
  readonly project: string;
  /** Id of the service account. */
  readonly serviceAccount: string;
  readonly displayName: string;
  readonly capabilities: readonly string[];
  /** Name of the configured issuer, and the URL that it stood for. */
  readonly issuer: string;
  readonly issuerUrl: string;
  readonly audience: string;
  /** Exactly what each exchange must show; null = the claim must be absent. */
  readonly bound: ObservedClaims;
  /** Id of the verification, and the digest that was approved. */
  readonly verification: string;
  readonly digest: string;
  readonly createdBy: string;
}

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

/** Times in Unix ms. */
export type CiConnectionEvent =
  | {
      readonly type: 'edited';
      readonly at: number;
      readonly displayName: string;
      readonly capabilities: readonly string[];
      /** true: the permissions are others than before. */
      readonly permissionsChanged: boolean;
      readonly by: string;
    }
  | { readonly type: 'disabled'; readonly at: number; readonly reason: string; readonly by: string }
  | { readonly type: 'enabled'; readonly at: number; readonly by: string }
  /** Its service account was disabled. */
  | { readonly type: 'accountDisabled'; readonly at: number; readonly by: string }
  /** Tokens given out before are not to be trusted: one leaked, or a backup was restored. */
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
      /** Claims kept for audit: actor, run, commit. */
      readonly recorded: ObservedClaims;
    }
  | {
      readonly type: 'exchangeRefused';
      readonly at: number;
      /** Told to the caller too, so that the two can be matched. */
      readonly correlation: string;
      /** Refusals since the last such note, these included, by code. */
      readonly codes: Readonly<Record<string, number>>;
      /** Names of the claims that differ. */
      readonly claims: readonly string[];
      /** Of all codes together. */
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
    // What was forgotten may have counted further: no count that was ever reached is used again.
    leaveEpochs: assign(({ context, event }) => ({
      tokenEpoch: Math.max(context.tokenEpoch + 1, event.at),
      updatedMs: event.at,
    })),
    noteDisabled: assign(({ event }) => {
      assertEvent(event, 'disabled');
      return { disabledReason: event.reason };
    }),
    noteEnabled: assign(({ event }) => ({ disabledReason: null, updatedMs: event.at })),
    noteExchanged: assign(({ event }) => ({ lastExchangeMs: event.at })),
    noteRefused: assign(({ event }) => ({ lastRefusalMs: event.at })),
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
      'A token leaked, or a backup was restored: tokens end, also those that it knows nothing of.',
    actions: 'leaveEpochs',
  },
  exchangeRefused: {
    description: 'Somebody tried to exchange what does not match.',
    actions: 'noteRefused',
  },
  deleted: {
    description: 'It is removed for good: its tokens end.',
    target: 'deleted',
    actions: 'endTokens',
  },
} as const;

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
          description: 'A workflow proved its identity and was given a token.',
          actions: 'noteExchanged',
        },
        disabled: {
          description: 'Somebody stopped it: its tokens end at once.',
          target: 'disabled',
          actions: ['endTokens', 'noteDisabled'],
        },
      },
    },
    disabled: {
      description: 'Every exchange is refused, and so are the tokens given out before.',
      on: {
        ...always,
        enabled: {
          description: 'New exchanges work again; old tokens do not.',
          target: 'enabled',
          actions: 'noteEnabled',
        },
      },
    },
    deleted: { description: 'It is gone.', type: 'final' },
  },
});

function initialContext(input: CiConnectionInput | undefined): CiConnectionContext {
  // xstate also calls this without input, for a throw-away actor of each transition.
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
