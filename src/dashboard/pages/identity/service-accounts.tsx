/**
 * The service accounts of a project, and all their keys, soonest expiry first: the place to look
 * before programs lose access.
 */
import type { VNode } from 'preact';
import { useDialogs } from '../../components/act-dialog.tsx';
import { ActionButton } from '../../components/action-button.tsx';
import { StateBadge } from '../../components/badges.tsx';
import { ListTable } from '../../components/list-table.tsx';
import type { Column } from '../../components/table.tsx';
import { Age } from '../../components/time.tsx';
import type { Listing } from '../../data/listing.ts';
import { format } from '../../data/preferences.ts';
import { pageTitles } from '../../layout/texts.ts';
import { formatCount } from '../../messages/format.ts';
import { query } from '../../router/location.ts';
import type { PageProps } from '../page.ts';
import { texts as all, shortCapabilities } from './access-texts.ts';
import { CreateAccount } from './account-actions.tsx';
import type { Key } from './key-actions.tsx';
import { endOf, isLive, KeyTable, useKeys } from './keys.tsx';
import { PromqlLookBack } from './promql-look-back.tsx';
import { type Account, useServiceAccounts } from './use-service-accounts.ts';

const texts = all.accounts;

const POLL_SECONDS = 30;

export function Page({ parameters }: PageProps): VNode {
  const projectName = `projects/${parameters.project}`;
  const { open, frame } = useDialogs<'create'>();
  const list = useServiceAccounts(projectName, POLL_SECONDS);
  const keys = useKeys(`${projectName}/serviceAccounts/-`);
  const known = list.state.value.value;
  const isWithout = known !== undefined && isEmpty(known);
  const accounts = known?.items ?? [];
  const accountByName = new Map(accounts.map((account) => [account.name, account]));
  const ownerOf = ({ name }: Key): Account | undefined => accountByName.get(accountOf(name));
  const ends = firstEnds(keys.state.value.value);
  return (
    <>
      <h1>{pageTitles.serviceAccounts}</h1>
      <p class="weak">{texts.about}</p>
      <p>
        <ActionButton needs="OWNER" onPress={open('create')}>
          {texts.create}
        </ActionButton>
      </p>
      <ListTable
        of={list}
        empty={<Empty />}
        label={pageTitles.serviceAccounts}
        columns={columnsWith(ends)}
        keyOf={({ name }) => name}
        href={({ name }) => `/${name}`}
      />
      {!isWithout && (
        <section aria-labelledby="keys">
          <h2 id="keys">{texts.allKeys}</h2>
          <KeyTable
            of={keys}
            empty={<p>{query.value.has('keys') ? texts.noKeysAtAll : texts.noKeys}</p>}
            owner={{
              href: ({ name }) => `/${accountOf(name)}`,
              title: (key) => ownerOf(key)?.displayName ?? '',
            }}
            isOwnerDisabled={(key) => ownerOf(key)?.state === 'DISABLED'}
          />
        </section>
      )}
      <PromqlLookBack projectName={projectName} />
      <CreateAccount {...frame('create')} projectName={projectName} />
    </>
  );
}

function isEmpty({ items, nextPageToken }: Listing<Account>): boolean {
  return items.length === 0 && nextPageToken === '';
}

function Empty(): VNode {
  return (
    <>
      <p>
        <strong>{texts.none}</strong>
      </p>
      <p>{texts.noneHelp}</p>
    </>
  );
}

/** `projects/p/serviceAccounts/s` of `projects/p/serviceAccounts/s/keys/k`. */
function accountOf(keyName: string): string {
  return keyName.split('/').slice(0, 4).join('/');
}

/** Expiry of the first key of each account, Unix ms; undefined unless all keys are loaded. */
function firstEnds(keys: Listing<Key> | undefined): ReadonlyMap<string, number> | undefined {
  if (keys === undefined || keys.nextPageToken !== '') return undefined;
  const ends = new Map<string, number>();
  for (const key of keys.items) {
    const [account, endMs] = [accountOf(key.name), endOf(key)];
    if (!isLive(key) || endMs === undefined) continue;
    ends.set(account, Math.min(endMs, ends.get(account) ?? endMs));
  }
  return ends;
}

function columnsWith(ends: ReadonlyMap<string, number> | undefined): Column<Account>[] {
  return [
    {
      key: 'name',
      title: texts.account,
      width: 'grow',
      cell: ({ displayName, name }) => displayName || name,
    },
    {
      key: 'grants',
      title: texts.grants,
      phone: 'second',
      cell: ({ capabilities }) => shortCapabilities(capabilities),
    },
    { key: 'state', title: texts.state, cell: ({ state }) => <StateBadge value={state} /> },
    {
      key: 'keys',
      title: texts.keys,
      align: 'right',
      phone: 'second',
      cell: ({ activeKeys }) => formatCount(activeKeys, format.value),
    },
    {
      key: 'ends',
      title: texts.firstEnd,
      phone: 'labelled',
      // An account without keys says so in the previous column.
      cell: ({ name }) =>
        (ends === undefined || ends.has(name)) && (
          <Age ms={ends?.get(name)} absent={texts.endUnknown} />
        ),
    },
  ];
}
