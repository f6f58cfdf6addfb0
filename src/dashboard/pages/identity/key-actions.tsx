/** Creating, rotating and revoking a key. A secret is shown once, in the dialog that created it. */
import { useSignal } from '@preact/signals';
import type { VNode } from 'preact';
import { useEffect } from 'preact/hooks';
import { ActDialog, type DialogFrame } from '../../components/act-dialog.tsx';
import { ActionButton } from '../../components/action-button.tsx';
import { CheckField, FieldGroup, SelectField, TextField } from '../../components/fields.tsx';
import { MutationStatus } from '../../components/mutation-status.tsx';
import { Time } from '../../components/time.tsx';
import { toast } from '../../components/toasts.tsx';
import { nowMs } from '../../data/clock.ts';
import { useForm } from '../../data/form.ts';
import { isUnsettled, useMutation, useSaved } from '../../data/mutation.ts';
import type { ResponseOf } from '../../data/rpc-types.ts';
import { texts as all, capabilityText } from './access-texts.ts';
import { SecretDialog } from './secret-dialog.tsx';

const texts = all.keys;

export type Key = ResponseOf<'AutomationService', 'listKeys'>['keys'][number];
/** Response of creation and rotation. */
type Issued = ResponseOf<'AutomationService', 'createKey'>;

const DAY_SECONDS = 86_400;
const DAYS_DEFAULT = 90;
const DAYS_MAX = 365;
const NAME_CHARS_MAX = 100;
const NETWORKS_CHARS_MAX = 1_000;

/** Lifetime in whole days as typed; undefined if invalid. */
function parseDays(text: string): number | undefined {
  const days = /^\d{1,3}$/.test(text.trim()) ? Number(text) : 0;
  return days >= 1 && days <= DAYS_MAX ? days : undefined;
}

function DaysField(props: { value: string; onInput: (value: string) => void }): VNode {
  const { value, onInput } = props;
  const days = parseDays(value);
  return (
    <TextField
      label={texts.days}
      value={value}
      onInput={onInput}
      inputMode="numeric"
      maxLength={3}
      problem={days === undefined ? texts.daysProblem(DAYS_MAX) : undefined}
      help={
        days !== undefined && (
          <>
            {texts.daysHelp} <Time ms={nowMs.value + days * DAY_SECONDS * 1_000} />
          </>
        )
      }
    />
  );
}

interface KeyDialogProps extends DialogFrame {
  /** Called after a key was created or has ended. */
  readonly onChanged: () => void;
}

export interface CreateKeyProps extends KeyDialogProps {
  /** Resource name of its owner. */
  readonly parent: string;
  /** Permissions of the owner. */
  readonly granted: readonly string[];
  /** The key to replace: its name and permissions prefill the form. */
  readonly like: Key | undefined;
}

export function CreateKey(props: CreateKeyProps): VNode {
  const { parent, granted, like, isOpen, onClose, onChanged } = props;
  const { mutation, draft, fields, type } = useForm('AutomationService', 'createKey', {
    key: `key ${parent}`,
    initial: {
      displayName: '',
      capabilities: granted.slice(0, 1),
      networks: '',
      days: String(DAYS_DEFAULT),
    },
  });
  const { displayName, networks, days } = fields;
  // Permissions may have been revoked since they were typed.
  const capabilities = fields.capabilities.filter((one) => granted.includes(one));
  useEffect(() => {
    if (!like) return;
    const { displayName, capabilities } = like;
    type({ displayName, capabilities, networks: like.networks.join(', ') });
  }, [like]);
  return (
    <SecretDialog
      title={texts.create}
      isOpen={isOpen}
      onClose={onClose}
      action={texts.create}
      blocked={blockedText(displayName, capabilities, days)}
      mutation={mutation}
      request={() => ({
        parent,
        displayName: displayName.trim(),
        capabilities,
        networks: networksOf(networks),
        lifetimeSeconds: secondsOf(days),
      })}
      onMade={onChanged}
      {...secretParts(() => mutation.reset(), onChanged)}
      onStored={draft.discard}
    >
      <TextField
        label={texts.name}
        help={texts.nameHelp}
        value={displayName}
        maxLength={NAME_CHARS_MAX}
        onInput={(value) => type({ displayName: value })}
      />
      <FieldGroup legend={all.capabilities}>
        {granted.map((one) => (
          <CheckField
            key={one}
            label={<code>{one}</code>}
            help={capabilityText(one)}
            isChecked={capabilities.includes(one)}
            onChange={(isChecked) => {
              const others = capabilities.filter((other) => other !== one);
              type({ capabilities: isChecked ? [...others, one] : others });
            }}
          />
        ))}
      </FieldGroup>
      <TextField
        label={texts.networks}
        help={texts.networksHelp}
        value={networks}
        maxLength={NETWORKS_CHARS_MAX}
        onInput={(value) => type({ networks: value })}
      />
      <DaysField value={days} onInput={(value) => type({ days: value })} />
    </SecretDialog>
  );
}

function blockedText(name: string, capabilities: readonly string[], days: string) {
  if (name.trim() === '') return texts.nameMissing;
  if (capabilities.length === 0) return texts.capabilityMissing;
  return parseDays(days) === undefined ? texts.daysProblem(DAYS_MAX) : undefined;
}

/** Addresses and ranges as typed, separated by commas or spaces. The service checks them. */
function networksOf(text: string): string[] {
  return text.split(/[\s,]+/).filter((network) => network !== '');
}

/** Converts a validated field. */
function secondsOf(days: string): number {
  return (parseDays(days) ?? DAYS_DEFAULT) * DAY_SECONDS;
}

/** Display of a key's secret, or the alternative if the secret was lost. */
function secretParts(onReplace: (key: Key) => void, onChanged: () => void) {
  return {
    label: ({ key }: Issued) => texts.secretOf(key?.displayName ?? ''),
    secretOf: ({ secret, secretAvailable }: Issued) => (secretAvailable ? secret : undefined),
    note: () => <p>{texts.secretHelp}</p>,
    replace: ({ key }: Issued) =>
      key && <RevokeLost of={key} onReplace={onReplace} onChanged={onChanged} />,
  };
}

interface RevokeLostProps {
  readonly of: Key;
  readonly onReplace: (key: Key) => void;
  readonly onChanged: () => void;
}

/** Revokes a key whose secret was lost, then starts a new one. */
function RevokeLost({ of: key, onReplace, onChanged }: RevokeLostProps): VNode {
  const revoke = useMutation('AutomationService', 'revokeKey');
  useSaved(revoke, () => {
    onChanged();
    onReplace(key);
  });
  return (
    <>
      <ActionButton
        look="danger"
        isBusy={isUnsettled(revoke.state.value)}
        onPress={() => void revoke.send({ name: key.name, reason: 'SECRET_LOST' })}
      >
        {texts.replaceLost}
      </ActionButton>
      <MutationStatus of={revoke} />
    </>
  );
}

/** Options of the overlap, hours. */
const OVERLAP_HOURS = [0, 1, 8, 24] as const;
const OVERLAP_HOURS_DEFAULT = '1';

export interface RotateKeyProps extends KeyDialogProps {
  readonly of: Key;
  /**
   * Called when the successor's secret was lost and the successor revoked: another key must be
   * created.
   */
  readonly onLost: (key: Key) => void;
}

export function RotateKey({ of: key, isOpen, onClose, onChanged, onLost }: RotateKeyProps): VNode {
  const rotate = useMutation('AutomationService', 'rotateKey');
  const hours = useSignal<string>(OVERLAP_HOURS_DEFAULT);
  const days = useSignal(String(DAYS_DEFAULT));
  const lost = (successor: Key): void => {
    rotate.reset();
    onLost(successor);
  };
  return (
    <SecretDialog
      title={texts.rotate.title(key.displayName)}
      isOpen={isOpen}
      onClose={onClose}
      action={texts.rotate.action}
      blocked={parseDays(days.value) === undefined ? texts.daysProblem(DAYS_MAX) : undefined}
      mutation={rotate}
      request={() => ({
        name: key.name,
        overlapSeconds: Number(hours.peek()) * 3_600,
        lifetimeSeconds: secondsOf(days.peek()),
      })}
      onMade={onChanged}
      {...secretParts(lost, onChanged)}
      onStored={() => toast(texts.rotate.done)}
    >
      <p>{texts.rotate.help}</p>
      <SelectField
        label={texts.rotate.overlap}
        help={hours.value === '0' ? texts.rotate.atOnce : texts.rotate.overlapHelp}
        value={hours.value}
        options={OVERLAP_HOURS.map((each) => ({
          value: String(each),
          title: each === 0 ? texts.rotate.none : texts.rotate.hours(each),
        }))}
        onChange={(value) => {
          hours.value = value;
        }}
      />
      <DaysField
        value={days.value}
        onInput={(value) => {
          days.value = value;
        }}
      />
    </SecretDialog>
  );
}

export interface RevokeKeyProps extends KeyDialogProps {
  readonly of: Key;
  /** True if it belongs to another member. */
  readonly isForeign: boolean;
}

export function RevokeKey(props: RevokeKeyProps): VNode {
  const { of: key, isForeign, onChanged, isOpen, onClose } = props;
  const { name, displayName } = key;
  const { title, action, done, reason, reasonHelp, effect, foreign } = texts.revoke;
  return (
    <ActDialog
      isOpen={isOpen}
      onClose={onClose}
      method={['AutomationService', 'revokeKey']}
      title={title(displayName)}
      action={action}
      needs="VIEWER"
      reason={{ of: name, label: reason, help: reasonHelp, maxLength: NAME_CHARS_MAX }}
      request={(reason) => ({ name, reason })}
      done={done(displayName)}
      onSaved={onChanged}
    >
      <p>
        {effect} {isForeign && foreign}
      </p>
    </ActDialog>
  );
}
