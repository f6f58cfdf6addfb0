/**
 * Service accounts. Disabling or deleting one rejects its keys and tokens at once, by the account's
 * own row. The consequences (permanently ending tokens, revoking keys) follow in the same commit if
 * they fit, and otherwise in batches. A record lists the remaining work, so that a crash loses
 * nothing: the next change of the account continues it, and enabling waits for it.
 */
import type { Clock } from '../../streams/platform/clock.ts';
import type { Actor } from '../../streams/platform/commit/commit.ts';
import { type Random, ulid } from '../../streams/platform/random.ts';
import { invalidField, Refusal } from '../../streams/platform/refusal.ts';
import type { Committed, Draft, Host, Instance } from '../platform/host/host-port.ts';
import { displayedActor, displayedOwner, recordAccessChange } from './access-notices.ts';
import { AFTERMATH, finishAftermath, startAftermath } from './account-aftermath.ts';
import {
  checkDisplayName,
  checkReason,
  type IdentityChange,
  knownCapabilities,
  someCapabilities,
} from './checks.ts';
import { PERMISSION_TEMPLATES } from './grants.ts';

/** A new service account, with the permissions of a template or with its own. */
export interface CreateAccount extends IdentityChange {
  /** Chosen by the service; absent for a new one. */
  readonly account?: string;
  readonly displayName: string;
  /** Id of a permission template; '' if `capabilities` lists the permissions instead. */
  readonly template: string;
  readonly capabilities: readonly string[];
}

/**
 * A new name or new permissions. Fewer permissions take effect on the next request of any key or
 * token.
 */
export interface UpdateAccount extends IdentityChange {
  readonly account: string;
  /** undefined = unchanged. */
  readonly displayName: string | undefined;
  readonly capabilities: readonly string[] | undefined;
}

/** A change of the service account with this id. */
export interface NamedAccount extends IdentityChange {
  readonly account: string;
}

/** Maximum service accounts of a project, deleted ones excluded. */
export const ACCOUNTS_MAX = 1_000;

/** Id of the account. */
export interface ChangedAccount {
  readonly account: string;
}

/**
 * Changes are durable when their promise resolves. Every method throws a `Refusal`: NOT_FOUND,
 * INVALID_STATE, INVALID_FIELD, LIMIT_EXCEEDED, REQUEST_ID_REUSED; and the errors of `Host.submit`.
 */
export interface Accounts {
  create(request: CreateAccount): Promise<Committed<ChangedAccount>>;
  update(request: UpdateAccount): Promise<Committed<ChangedAccount>>;
  /**
   * Stops its keys and tokens at once, the tokens permanently. Changes nothing if it is already
   * disabled; the first reason stays.
   */
  disable(request: NamedAccount & { readonly reason: string }): Promise<Committed<ChangedAccount>>;
  enable(request: NamedAccount): Promise<Committed<ChangedAccount>>;
  /**
   * Deletes it permanently, with its keys and CI connections. A resent request finishes the work
   * that a crash interrupted.
   */
  delete(request: NamedAccount): Promise<Committed<ChangedAccount>>;
}

/** The host that decides, and the source of new ids. */
export interface AccountsDeps {
  readonly host: Pick<Host, 'submit' | 'view'>;
  readonly clock: Clock;
  readonly random: Random;
}

/** Wraps the host. The account's next change also continues work that an ended account left. */
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
        if (changed) recordWidened(draft, account, 'was enabled again', change.by);
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
  const granted = initialGrants(creation);
  const account = creation.account ?? ulid(clock.now(), random);
  return host.submit({
    project,
    by,
    ...(request && { request }),
    decide(draft) {
      if (draft.countInstances('serviceAccount', { final: false }) >= ACCOUNTS_MAX) {
        const message = `A project has at most ${ACCOUNTS_MAX} service accounts. Delete one first`;
        throw new Refusal('LIMIT_EXCEEDED', message, { limit: String(ACCOUNTS_MAX) });
      }
      const input = { at: draft.at, project, displayName, ...granted, createdBy: by.name };
      draft.start('serviceAccount', account, input);
      return { account };
    },
  });
}

/** Capabilities from either the template or the list. */
function initialGrants({ template, capabilities }: CreateAccount) {
  if (template === '') return { template: null, capabilities: someCapabilities(capabilities) };
  if (capabilities.length > 0) {
    throw invalidField(
      'template',
      'template and capabilities cannot be combined. Send only one of them',
    );
  }
  const found = PERMISSION_TEMPLATES.find(({ id }) => id === template);
  if (found) return { template, capabilities: found.capabilities };
  const ids = PERMISSION_TEMPLATES.map(({ id }) => id).join(' or ');
  const seen = JSON.stringify(template.slice(0, 100));
  throw invalidField('template', `There is no permission template ${seen}. Choose ${ids}`);
}

function updateAccount(
  host: AccountsDeps['host'],
  { account, displayName, capabilities, ...change }: UpdateAccount,
): Promise<Committed<ChangedAccount>> {
  if (displayName !== undefined) checkDisplayName(displayName);
  // An empty list is allowed here. It stops the account's keys until it is changed.
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
    recordWidened(draft, account, `was granted ${gained.join(' and ')}`, change.by);
  });
}

/** Owners are notified, because existing keys and tokens of the account can do more than before. */
function recordWidened(draft: Draft, account: string, what: string, by: Actor): void {
  const name = `projects/${draft.project}/serviceAccounts/${account}`;
  const text = `The service account ${displayedOwner(draft, name)} ${what} by ${displayedActor(draft, by.name)}`;
  recordAccessChange(draft, { about: 'ACCESS', text, isForOwners: true, member: null });
}

/** Submits a decision about an existing account. */
function decided(
  host: AccountsDeps['host'],
  { project, by, request }: IdentityChange,
  account: string,
  decide: (draft: Draft, row: Instance<'serviceAccount'>) => void,
): Promise<Committed<ChangedAccount>> {
  return host.submit({
    project,
    by,
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

/** Throws IN_PROGRESS while tokens made before the account was disabled are still being ended. */
function assertNothingLeft(draft: Draft, account: string): void {
  if (!draft.record(AFTERMATH, account)) return;
  const message = 'Its tokens are still being ended. Send the same request again in a moment';
  throw new Refusal('IN_PROGRESS', message);
}
