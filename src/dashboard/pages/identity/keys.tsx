/**
 * Keys of one owner, or of all service accounts: effective permissions, expiry and last use,
 * soonest expiry first. Never shows a secret.
 */

import type { ComponentChildren, VNode } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { useChosen } from '../../components/act-dialog.tsx';
import { ActionButton } from '../../components/action-button.tsx';
import { Badge, StateBadge, type Tone } from '../../components/badges.tsx';
import { ageColumn } from '../../components/columns.tsx';
import { Filters, SelectFilter } from '../../components/filters.tsx';
import { ListTable } from '../../components/list-table.tsx';
import { Menu, type MenuItem } from '../../components/menu.tsx';
import type { Column } from '../../components/table.tsx';
import { Age, ageText, msOf } from '../../components/time.tsx';
import { nowMs } from '../../data/clock.ts';
import { type ListLoader, pagesOf, useListing } from '../../data/listing.ts';
import { query } from '../../router/location.ts';
import { texts as all, shortCapabilities } from './access-texts.ts';
import { CreateKey, type Key, RevokeKey, RotateKey } from './key-actions.tsx';

const texts = all.keys;

/** Maximum page size of a list; sorting requires all keys. */
const PAGE_ROWS = 1_000;
const KEYS_MAX = 10_000;
const POLL_SECONDS = 30;

/** Keys of an owner, or of `projects/p/serviceAccounts/-`, soonest expiry first. */
export function useKeys(parent: string): ListLoader<Key> {
  const includeEnded = query.value.get('keys') === 'all';
  return useListing<Key>(
    `keys ${parent} ${includeEnded}`,
    pagesOf('AutomationService', 'listKeys', 'keys', { parent, includeEnded, pageSize: PAGE_ROWS }),
    { rows: KEYS_MAX, pollSeconds: POLL_SECONDS },
  );
}

/** When it stops working, Unix ms: the end of its overlap or of its lifetime. */
export function endOf({ overlapEndsUnix, expiresUnix }: Key): number | undefined {
  return msOf(overlapEndsUnix ?? expiresUnix);
}

/** True while it grants access, within its owner's permissions. */
export function isLive({ state }: Key): boolean {
  return state === 'ACTIVE' || state === 'ROTATING';
}

/** Active keys before ended ones, soonest expiry first. */
function byEnd(keys: readonly Key[]): Key[] {
  const rank = (key: Key): number =>
    (isLive(key) ? 0 : Number.MAX_SAFE_INTEGER / 2) + (endOf(key) ?? Number.MAX_SAFE_INTEGER / 2);
  return keys.toSorted((a, b) => rank(a) - rank(b));
}

interface KeyTableProps {
  readonly of: ListLoader<Key>;
  readonly empty: ComponentChildren;
  /** Content of the last column. */
  readonly actions?: (key: Key) => ComponentChildren;
  /** Page and title of a key's owner, if keys have several owners. */
  readonly owner?: { href(key: Key): string; title(key: Key): string };
  /** True if its owner is disabled: the key then grants no access, whatever its own state. */
  readonly isOwnerDisabled?: (key: Key) => boolean;
}

export function KeyTable(props: KeyTableProps): VNode {
  const { of: list, empty, owner } = props;
  return (
    <>
      <Filters names={['keys']}>
        <SelectFilter
          name="keys"
          label={texts.displayed}
          all={texts.working}
          options={[{ value: 'all', title: texts.withEnded }]}
        />
      </Filters>
      <ListTable
        of={list}
        missing={({ nextPageToken }) => (nextPageToken === '' ? [] : [texts.partOrder])}
        label={texts.label}
        columns={columnsOf(props)}
        order={byEnd}
        keyOf={({ name }) => name}
        {...(owner && { href: owner.href })}
        empty={empty}
      >
        <p class="weak">{texts.usedMeaning}</p>
      </ListTable>
    </>
  );
}

function columnsOf({ actions, owner, isOwnerDisabled }: KeyTableProps): Column<Key>[] {
  return [
    {
      key: 'name',
      title: texts.key,
      width: 'grow',
      cell: ({ displayName, last4, networks, refusedUses, lastRefusedReason }) => (
        <span>
          {displayName} <code class="weak">…{last4}</code>
          {networks.length > 0 && <span class="weak"> {texts.onlyFrom(networks.join(', '))}</span>}{' '}
          <Refused count={refusedUses} reason={lastRefusedReason} />
        </span>
      ),
    },
    ...(owner
      ? [{ key: 'owner', title: texts.owner, phone: 'second' as const, cell: owner.title }]
      : []),
    {
      key: 'state',
      title: texts.state,
      cell: (key) =>
        isLive(key) && isOwnerDisabled?.(key) ? (
          <Badge tone="off" text={texts.ownerDisabled} />
        ) : (
          <StateBadge value={key.state} />
        ),
    },
    { key: 'may', title: texts.may, phone: 'second', cell: (key) => <May {...key} /> },
    { key: 'end', title: texts.end, phone: 'labelled', cell: (key) => <End of={key} /> },
    ageColumn('used', texts.lastUsed, ({ lastUsedUnix }) => lastUsedUnix, { phone: 'hide' }),
    ...(actions
      ? [{ key: 'acts', title: all.actions, align: 'right' as const, cell: actions }]
      : []),
  ];
}

/** Uses with the right secret that were refused. */
function Refused(props: { readonly count: string; readonly reason: string }): VNode | null {
  const { count, reason } = props;
  if (!(Number(count) > 0)) return null;
  return <Badge tone="warning" text={texts.refused(count)} title={texts.refusedHelp(reason)} />;
}

/** Its effective permissions, and those that its owner has lost. */
function May(key: Key): VNode {
  const { capabilities, effectiveCapabilities } = key;
  if (!isLive(key)) return <span class="weak">{texts.nothing}</span>;
  const lost = capabilities.filter((one) => !effectiveCapabilities.includes(one));
  const now = shortCapabilities(effectiveCapabilities);
  if (lost.length === 0) return <span>{now}</span>;
  return (
    <span>
      {now} <Badge tone="off" text={texts.lost(shortCapabilities(lost))} title={texts.lostHelp} />
    </span>
  );
}

const warnings: Readonly<Record<string, readonly [Tone, string]>> = {
  WITHIN_1_DAY: ['critical', texts.within1],
  WITHIN_7_DAYS: ['warning', texts.within7],
  WITHIN_14_DAYS: ['info', texts.within14],
};

/** For an ended key, the reason: its state says that it has ended. */
function End({ of: key }: { readonly of: Key }): VNode {
  const [endMs, warning] = [endOf(key), warnings[key.expiryWarning]];
  if (key.state === 'REVOKED')
    return <span class="weak">{key.revokedReason || texts.revoked}</span>;
  if (endMs === undefined || warning === undefined) return <Age ms={endMs} absent={texts.noEnd} />;
  const [tone, title] = warning;
  return <Badge tone={tone} text={ageText(endMs, nowMs.value)} title={title} />;
}

export interface OwnerKeysProps {
  /** `projects/p/serviceAccounts/s` or `projects/p/members/m`. */
  readonly parent: string;
  /** Permissions that a new key may have. */
  readonly granted: readonly string[];
  /**
   * Why no key can be created here, in a sentence; undefined if keys can be created and rotated.
   */
  readonly blocked?: string | undefined;
  /** True if the owner is disabled. */
  readonly isDisabled?: boolean;
  /** True if the keys belong to another member: they can only be revoked. */
  readonly isForeign?: boolean;
  /** How the owner limits its keys, in a sentence. */
  readonly limit: string;
  /** Called after a key was created or has ended. */
  readonly onChanged?: () => void;
}

type Action =
  | { readonly kind: 'create'; readonly like?: Key }
  | { readonly kind: 'rotate' | 'revoke'; readonly key: Key };

/** The keys of one owner, with all their actions. */
export function OwnerKeys(props: OwnerKeysProps): VNode {
  const { parent, granted, blocked, isForeign = false, isDisabled = false } = props;
  const { limit, onChanged } = props;
  const list = useKeys(parent);
  // The owner's permissions determine what the keys may do now.
  const basis = `${granted.join()} ${blocked}`;
  const before = useRef(basis);
  useEffect(() => {
    if (before.current !== basis) list.reload();
    before.current = basis;
  }, [basis, list.reload]);
  const { value: now, choose: open, frame } = useChosen<Action>();
  const changed = (): void => {
    list.reload();
    onChanged?.();
  };
  const dialog = (kind: Action['kind']) => ({
    ...frame,
    isOpen: now?.kind === kind,
    onChanged: changed,
  });
  const createLike = (like: Key): void => open({ kind: 'create', like });
  return (
    <>
      {!isForeign && (
        <p>
          <ActionButton blocked={blocked} effect={limit} onPress={() => open({ kind: 'create' })}>
            {texts.create}
          </ActionButton>
        </p>
      )}
      <KeyTable
        of={list}
        empty={<p>{isForeign ? texts.noneForeign : texts.none}</p>}
        isOwnerDisabled={() => isDisabled}
        actions={(key) => <Actions of={key} blocked={blocked} isForeign={isForeign} open={open} />}
      />
      <CreateKey
        {...dialog('create')}
        parent={parent}
        granted={granted}
        like={now?.kind === 'create' ? now.like : undefined}
      />
      {(now?.kind === 'rotate' || now?.kind === 'revoke') && (
        <>
          <RotateKey {...dialog('rotate')} of={now.key} onLost={createLike} />
          <RevokeKey {...dialog('revoke')} of={now.key} isForeign={isForeign} />
        </>
      )}
    </>
  );
}

interface ActionsProps extends Pick<OwnerKeysProps, 'blocked' | 'isForeign'> {
  readonly of: Key;
  readonly open: (act: Action) => void;
}

function Actions({ of: key, blocked, isForeign, open }: ActionsProps): VNode | null {
  if (!isLive(key)) return null;
  const rotate: MenuItem = {
    key: 'rotate',
    title: texts.rotate.action,
    blocked: isForeign ? texts.rotate.foreign : blocked,
    run: () => open({ kind: 'rotate', key }),
  };
  const revoke: MenuItem = {
    key: 'revoke',
    title: texts.revoke.action,
    run: () => open({ kind: 'revoke', key }),
  };
  const items = [rotate, revoke];
  return <Menu label={all.actionsFor(`${key.displayName} …${key.last4}`)} items={items} />;
}
