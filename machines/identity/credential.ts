/**
 * Machine of one credential, a scoped key: its permissions, and its end. The row holds the hash of
 * the secret, never the secret. Revocation is one transition from every live state, without a
 * timer.
 */
import { assertEvent, assign, setup } from 'xstate';

/** Longest time that an old key works after its first rotation, ms. */
const KEY_OVERLAP_MS_MAX = 24 * 3_600_000;

export interface CredentialInput {
  /** Unix ms of the commit that creates it. */
  readonly at: number;
  readonly project: string;
  /** Personal key, service-account key, collector, enrolled VM. */
  readonly kind: 'pk' | 'sk' | 'col' | 'vm';
  /** Hash of the secret, hex SHA-256. */
  readonly hash: string;
  /** Last four characters of the secret, for display. */
  readonly lastFour: string;
  readonly capabilities: readonly string[];
  /** Resource name of the identity it acts for. */
  readonly owner: string;
  readonly displayName: string;
  /** Resource name of its creator, or a part of the service. */
  readonly createdBy: string;
  /** For a collector: the one data center whose machines it reports; null = any. */
  readonly datacenter: string | null;
  /** For a collector of `_system`: the projects that it writes to; null = any. */
  readonly projects: readonly string[] | null;
  /** For an enrolled VM's agent: id of the one VM that it reports; null otherwise. */
  readonly vm: string | null;
  /** Addresses and networks that it may be used from; null = any. Absent in older rows. */
  readonly networks?: readonly string[] | null;
  /** End of its lifetime, Unix ms. */
  readonly expiresMs: number;
}

export interface CredentialContext extends Omit<CredentialInput, 'at'> {
  readonly createdMs: number;
  /** Id of the key that replaces it; null = never rotated. */
  readonly successor: string | null;
  /** Time of the first rotation, Unix ms. */
  readonly rotatedMs: number | null;
  /** End of its overlap while rotating, Unix ms. */
  readonly overlapEndsMs: number | null;
  readonly revokedMs: number | null;
  readonly revokedReason: string | null;
}

/** Times in Unix ms. */
export type CredentialEvent =
  | {
      readonly type: 'rotated';
      readonly at: number;
      readonly successor: string;
      /** Time for which it still works, ms; 0 = not at all. */
      readonly overlapMs: number;
      readonly by: string;
    }
  | {
      readonly type: 'revoked';
      readonly at: number;
      readonly reason: string;
      readonly by: string;
    };

const chart = setup({
  types: {
    context: {} as CredentialContext,
    events: {} as CredentialEvent,
    input: {} as CredentialInput,
  },
  actions: {
    keepSuccessor: assign(({ context, event }) => {
      assertEvent(event, 'rotated');
      const rotatedMs = context.rotatedMs ?? event.at;
      const overlapEndsMs = Math.min(event.at + event.overlapMs, rotatedMs + KEY_OVERLAP_MS_MAX);
      return { successor: event.successor, rotatedMs, overlapEndsMs };
    }),
    recordRevoked: assign(({ event }) => {
      assertEvent(event, 'revoked');
      return { revokedMs: event.at, revokedReason: event.reason, overlapEndsMs: null };
    }),
    recordReplaced: assign(({ context, event }) => ({
      revokedMs: event.at ?? context.overlapEndsMs,
      revokedReason: 'ROTATED',
      overlapEndsMs: null,
    })),
  },
  guards: {
    hasOverlap: ({ context, event }) =>
      event.type === 'rotated' &&
      event.overlapMs > 0 &&
      event.at < (context.rotatedMs ?? event.at) + KEY_OVERLAP_MS_MAX,
  },
  delays: {
    lifetimeEnd: ({ context, event }) =>
      // The first event, xstate.init, has no time of its own, so the creation time is used.
      Math.max(0, context.expiresMs - (event.at ?? context.createdMs)),
    overlapEnd: ({ context, event }) => Math.max(0, (context.overlapEndsMs ?? event.at) - event.at),
  },
});

const lifetimeEnd = {
  description: 'Its lifetime has ended.',
  target: 'expired',
} as const;

const revoked = {
  description: 'It was revoked: it stops working at once.',
  target: 'revoked',
  actions: 'recordRevoked',
} as const;

const replacedAtOnce = {
  description: 'A successor replaces it without overlap: it stops working at once.',
  target: 'revoked',
  actions: ['keepSuccessor', 'recordReplaced'],
} as const;

export const credentialMachine = chart.createMachine({
  id: 'credential',
  description: 'A scoped key: its permissions, its end, and its successor.',
  context: ({ input }) => initialContext(input),
  initial: 'active',
  states: {
    active: {
      description: 'It works.',
      after: { lifetimeEnd },
      on: {
        rotated: [
          {
            description: 'A successor was made; this one works until the overlap ends.',
            guard: 'hasOverlap',
            target: 'rotating',
            actions: 'keepSuccessor',
          },
          replacedAtOnce,
        ],
        revoked,
      },
    },
    rotating: {
      description: 'It works beside its successor until the overlap ends.',
      after: {
        lifetimeEnd,
        overlapEnd: {
          description: 'The overlap has ended: only the successor works.',
          target: 'revoked',
          actions: 'recordReplaced',
        },
      },
      on: {
        rotated: [
          {
            description: 'Its successor was revoked and another made, while the overlap lasts.',
            guard: 'hasOverlap',
            target: 'rotating',
            reenter: true,
            actions: 'keepSuccessor',
          },
          replacedAtOnce,
        ],
        revoked,
      },
    },
    revoked: { description: 'It was ended before its expiry.', type: 'final' },
    expired: { description: 'Its lifetime ended.', type: 'final' },
  },
});

function initialContext(input: CredentialInput | undefined): CredentialContext {
  // xstate also calls this without input, for the throw-away actor of each transition.
  return {
    project: input?.project ?? '',
    kind: input?.kind ?? 'pk',
    hash: input?.hash ?? '',
    lastFour: input?.lastFour ?? '',
    capabilities: input?.capabilities ?? [],
    owner: input?.owner ?? '',
    displayName: input?.displayName ?? '',
    createdBy: input?.createdBy ?? '',
    datacenter: input?.datacenter ?? null,
    projects: input?.projects ?? null,
    vm: input?.vm ?? null,
    networks: input?.networks ?? null,
    expiresMs: input?.expiresMs ?? 0,
    createdMs: input?.at ?? 0,
    successor: null,
    rotatedMs: null,
    overlapEndsMs: null,
    revokedMs: null,
    revokedReason: null,
  };
}
