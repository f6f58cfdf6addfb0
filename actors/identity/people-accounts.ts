/**
 * Accounts at identity providers, except those linked by a verified address: a signed-in person
 * links an account that the provider has just vouched for, and an operator unlinks accounts, for
 * example after the provider has changed all subjects.
 */
import type { LinkedIdentity } from '../../machines/identity/person.ts';
import { type Actor, SYSTEM_PROJECT } from '../../streams/platform/commit/commit.ts';
import { Refusal } from '../../streams/platform/refusal.ts';
import type { Host, RequestKey } from '../platform/host/host-port.ts';
import { assertActive, linkIdentity, personByIdentity, unlinkIdentity } from './people-index.ts';

/** Maximum age of a session that links an account, ms. An old one may be in other hands. */
const FRESH_MS = 15 * 60_000;

/** Actions of people and operators on linked accounts. */
export interface Accounts {
  /**
   * Links an account with the person of a session. Changes nothing if it is already linked with
   * this person. Throws a `Refusal`: INVALID_STATE (the session is older than 15 minutes, or
   * another person has the account), LIMIT_EXCEEDED, IDENTITY_DISABLED.
   */
  linkAccount(session: string, account: LinkedIdentity): Promise<void>;
  /**
   * Unlinks all accounts of a person, and returns their number. Sessions stay. Throws a `Refusal`:
   * NOT_FOUND, IDENTITY_DISABLED.
   */
  unlinkAccounts(by: Actor, person: string, request?: RequestKey): Promise<number>;
}

/** Wraps the host. */
export function createAccounts({ host }: { readonly host: Host }): Accounts {
  return {
    async linkAccount(session, account) {
      const row = host.view(SYSTEM_PROJECT).instance('session', session);
      if (!row) throw new Refusal('MISSING_CREDENTIAL', 'You are not signed in. Sign in again');
      const { person } = row.context;
      await host.submit({
        project: SYSTEM_PROJECT,
        by: { kind: 'human', name: `people/${person}` },
        decide(draft) {
          assertActive(draft, person);
          if (draft.at - row.context.createdMs > FRESH_MS) throw staleSession();
          const holder = personByIdentity(draft, account);
          if (holder !== undefined && holder !== person) throw takenAccount();
          const { issuer, subject } = account;
          if (holder === undefined) linkIdentity(draft, person, { issuer, subject });
        },
      });
    },
    async unlinkAccounts(by, person, request) {
      const { answer } = await host.submit({
        project: SYSTEM_PROJECT,
        by,
        ...(request && { request }),
        decide(draft) {
          const { identities } = assertActive(draft, person);
          for (const identity of identities)
            unlinkIdentity(draft, person, { identity, by: by.name });
          return { accounts: identities.length };
        },
      });
      return answer.accounts;
    },
  };
}

function staleSession(): Refusal {
  return new Refusal(
    'INVALID_STATE',
    'You signed in more than 15 minutes ago. Sign out, sign in with a link, and try again',
  );
}

function takenAccount(): Refusal {
  return new Refusal(
    'INVALID_STATE',
    'Another person signs in with this account. Ask an operator to unlink it ("svc admin people unlink")',
  );
}
