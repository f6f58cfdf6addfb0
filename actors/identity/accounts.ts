/**
 * Service accounts, decided. The account's own step alone refuses its keys and tokens; what else a
 * disabling or a deletion does (ending tokens for good, revoking keys) follows in the same commit
 * as far as it fits, and then in batches. A record says what is left, so that a crash leaves nothing
 * forgotten: the next change of the account goes on with it, and enabling waits for it.
 */
import type { Clock } from '../../streams/platform/clock.ts';
import type { Actor } from '../../streams/platform/commit/commit.ts';
import { type Random, ulid } from '../../streams/platform/random.ts';
import { Refusal } from '../../streams/platform/refusal.ts';
import type { Committed, Draft, Host, Instance } from '../platform/host/host-port.ts';
import { noteAccessChange, shownActor, shownOwner } from './access-notices.ts';
import { AFTERMATH, finishAftermath, startAftermath } from './account-aftermath.ts';
import {
  ACCOUNTS_MAX,
  type Accounts,
  type ChangedAccount,
  type CreateAccount,
  type IdentityChange,
  type UpdateAccount,
} from './accounts-port.ts';
import {
  checkDisplayName,
  checkReason,
  invalid,
  knownCapabilities,
  someCapabilities,
} from './checks.ts';
import { PERMISSION_TEMPLATES } from './templates.ts';

export interface AccountsDeps {
  readonly host: Pick<Host, 'submit' | 'view'>;
  readonly clock: Clock;
  readonly random: Random;
}

export function createAccounts(deps: AccountsDeps): Accounts {
  const { host } = deps;
  return {
    create: (creation) => createAccount(deps, creation),
    update: (update) => updateAccount(host, update),
    async disable({ account, reason, ...change }) {
      checkReason(reason);
      const by = change.by.name;
      const committed = await decided(host, change, account, (draft) => {
        const disabled = { type: 'disabled', at: draft.at, reason, by } as const;
        const { changed } = draft.send('serviceAccount', account, disabled);
        if (changed) startAftermath(draft, { account, what: 'disabled', by });
      });
      await finishAftermath(host, change, account);
      return committed;
    },
    async enable({ account, ...change }) {
      await finishAftermath(host, change, account);
      return decided(host, change, account, (draft) => {
        assertNothingLeft(draft, account);
        const enabled = { type: 'enabled', at: draft.at, by: change.by.name } as const;
        const { changed } = draft.send('serviceAccount', account, enabled);
        if (changed) noteWidened(draft, account, 'was enabled again', change.by);
      });
    },
    async delete({ account, ...change }) {
      await finishAftermath(host, change, account);
      const by = change.by.name;
      const committed = await decided(host, change, account, (draft) => {
        draft.send('serviceAccount', account, { type: 'deleted', at: draft.at, by });
        startAftermath(draft, { account, what: 'deleted', by });
      });
      await finishAftermath(host, change, account);
      return committed;
    },
  };
}

function createAccount(
  { host, clock, random }: AccountsDeps,
  creation: CreateAccount,
): Promise<Committed<ChangedAccount>> {
  const { project, by, request, displayName } = creation;
  checkDisplayName(displayName);
  const granted = grantedAtFirst(creation);
  const account = creation.account ?? ulid(clock.now(), random);
  return host.submit({
    ...{ project, by },
    ...(request && { request }),
    decide(draft) {
      if (draft.countInstances('serviceAccount', { final: false }) >= ACCOUNTS_MAX) {
        const message = `A project has at most ${ACCOUNTS_MAX} service accounts: delete one first`;
        throw new Refusal('LIMIT_EXCEEDED', message, { limit: String(ACCOUNTS_MAX) });
      }
      const input = { at: draft.at, project, displayName, ...granted, createdBy: by.name };
      draft.start('serviceAccount', account, input);
      return { account };
    },
  });
}

/** From the template, or as listed: one of the two. */
function grantedAtFirst({ template, capabilities }: CreateAccount) {
  if (template === '') return { template: null, capabilities: someCapabilities(capabilities) };
  if (capabilities.length > 0) {
    throw invalid('template', 'template and capabilities are both given: one of them says it all');
  }
  const found = PERMISSION_TEMPLATES.find(({ id }) => id === template);
  if (found) return { template, capabilities: found.capabilities };
  const ids = PERMISSION_TEMPLATES.map(({ id }) => id).join(' and ');
  const seen = JSON.stringify(template.slice(0, 100));
  throw invalid('template', `There is no permission template ${seen}: there are ${ids}`);
}

function updateAccount(
  host: AccountsDeps['host'],
  { account, displayName, capabilities, ...change }: UpdateAccount,
): Promise<Committed<ChangedAccount>> {
  if (displayName !== undefined) checkDisplayName(displayName);
  // An empty list is fine here: nothing of the account works until it is given something.
  const granted = capabilities && knownCapabilities(capabilities);
  return decided(host, change, account, (draft, row) => {
    const before = row.context;
    const after = {
      displayName: displayName ?? before.displayName,
      capabilities: granted ?? before.capabilities,
    };
    const edited = { type: 'edited', at: draft.at, ...after, by: change.by.name } as const;
    draft.send('serviceAccount', account, edited);
    const gained = after.capabilities.filter((each) => !before.capabilities.includes(each));
    if (gained.length === 0) return;
    noteWidened(draft, account, `may now also ${gained.join(' and ')}`, change.by);
  });
}

/** Whatever acts for the account can do more than before, without any new key: news for owners. */
function noteWidened(draft: Draft, account: string, what: string, by: Actor): void {
  const name = `projects/${draft.project}/serviceAccounts/${account}`;
  const text = `The service account ${shownOwner(draft, name)} ${what}, by ${shownActor(draft, by.name)}`;
  noteAccessChange(draft, { about: 'ACCESS', text, isForOwners: true, member: null });
}

/** One decision about an account that is there. */
function decided(
  host: AccountsDeps['host'],
  { project, by, request }: IdentityChange,
  account: string,
  decide: (draft: Draft, row: Instance<'serviceAccount'>) => void,
): Promise<Committed<ChangedAccount>> {
  return host.submit({
    ...{ project, by },
    ...(request && { request }),
    decide(draft) {
      const row = draft.instance('serviceAccount', account);
      if (!row || row.final) {
        const name = `projects/${project}/serviceAccounts/${account}`;
        throw new Refusal('NOT_FOUND', `There is no ${name}`);
      }
      decide(draft, row);
      return { account };
    },
  });
}

/** Tokens given out before a disabling must not work again after it. */
function assertNothingLeft(draft: Draft, account: string): void {
  if (!draft.record(AFTERMATH, account)) return;
  const message = 'Its tokens are still being ended: send the same request again in a moment';
  throw new Refusal('IN_PROGRESS', message);
}
