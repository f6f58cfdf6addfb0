/**
 * First step of the wizard: the service account, the permissions that can be approved later, and
 * the platform. The response contains the pairing code, which is passed in memory to the page of
 * the verification.
 */
import { type Signal, useSignal } from '@preact/signals';
import type { VNode } from 'preact';
import { useEffect } from 'preact/hooks';
import { ActionButton } from '../../components/action-button.tsx';
import { DataView } from '../../components/data-view.tsx';
import { SelectField, TextField } from '../../components/fields.tsx';
import { MutationStatus } from '../../components/mutation-status.tsx';
import { ResourceLink } from '../../components/resource-link.tsx';
import { typing, useDraft } from '../../data/draft.ts';
import type { ListLoader } from '../../data/listing.ts';
import { isUnsettled, useMutation, useSaved } from '../../data/mutation.ts';
import { idOf } from '../../data/names.ts';
import { type ServiceInfo, useServiceInfo } from '../../data/service-info.ts';
import { navigate } from '../../router/location.ts';
import { useServiceAccounts } from '../identity/use-service-accounts.ts';
import { CreateAccount } from './create-account.tsx';
import { handOver } from './pairing-code.ts';
import { Permissions } from './parts.tsx';
import type { ServiceAccount, Verification } from './queries.ts';
import { texts as all, platformNames } from './texts.ts';

const texts = all.start;

interface Form {
  readonly account: string;
  readonly displayName: string;
  readonly capabilities: readonly string[];
  /** Empty for the platform that the service chooses. */
  readonly issuer: string;
}

export interface StartVerificationProps {
  readonly projectName: string;
  /** The verification that this one repeats. */
  readonly after?: Verification | undefined;
}

export function StartVerification({ projectName, after }: StartVerificationProps): VNode {
  const accounts = useServiceAccounts(projectName);
  return (
    <DataView of={accounts} lines={6}>
      {({ items }) => (
        <StartForm
          projectName={projectName}
          after={after}
          accounts={items.filter(({ state }) => state === 'ACTIVE')}
          loader={accounts}
        />
      )}
    </DataView>
  );
}

type StartFormProps = StartVerificationProps & {
  readonly accounts: readonly ServiceAccount[];
  readonly loader: ListLoader<ServiceAccount>;
};

function StartForm({ projectName, after, accounts, loader }: StartFormProps): VNode {
  const draft = useDraft<Form>(`startCiVerification ${projectName} ${after?.name}`, {
    account: after?.serviceAccountName ?? '',
    displayName: after?.displayName ?? '',
    capabilities: after?.capabilities ?? [],
    issuer: after?.issuer ?? '',
  });
  const start = useMutation('AutomationService', 'startCiVerification');
  useSaved(start, ({ verification, pairingCode, secretAvailable }) => {
    if (verification === undefined) return;
    if (secretAvailable) handOver(verification.name, pairingCode);
    draft.discard();
    const repeated = after === undefined ? '' : `&after=${idOf(after.name)}`;
    navigate(`/${verification.name}?step=setUp${repeated}`);
  });
  const form = draft.value.value;
  const type = typing(draft, start);
  const account = accounts.find(({ name }) => name === form.account);
  const offered = account?.capabilities ?? [];
  const capabilities = offered.filter((one) => form.capabilities.includes(one));
  return (
    <div class="form">
      {after && <p>{texts.again(after.displayName)}</p>}
      <ChooseAccount
        projectName={projectName}
        accounts={accounts}
        account={account}
        loader={loader}
        onChoose={({ name, capabilities }) => type({ account: name, capabilities })}
      />
      <TextField
        label={texts.name}
        help={texts.nameHelp}
        value={form.displayName}
        maxLength={100}
        onInput={(displayName) => type({ displayName })}
      />
      {account && (
        <Permissions
          legend={texts.capabilities}
          help={texts.capabilitiesHelp}
          offered={offered}
          chosen={capabilities}
          onChange={(chosen) => type({ capabilities: chosen })}
        />
      )}
      <Platform issuer={form.issuer} onChange={(issuer) => type({ issuer })} />
      <ActionButton
        needs="OWNER"
        effect={texts.effect}
        blocked={missingOf(account, form.displayName, capabilities)}
        isBusy={isUnsettled(start.state.value)}
        onPress={() =>
          void start.send({
            serviceAccountName: form.account,
            displayName: form.displayName.trim(),
            capabilities,
            issuer: form.issuer,
          })
        }
      >
        {texts.send}
      </ActionButton>
      <MutationStatus of={start} refusedTitle={texts.refused} />
    </div>
  );
}

function missingOf(
  account: ServiceAccount | undefined,
  displayName: string,
  capabilities: readonly string[],
): string | undefined {
  if (account === undefined) return texts.accountMissing;
  if (displayName.trim() === '') return texts.nameMissing;
  return capabilities.length === 0 ? texts.capabilityMissing : undefined;
}

interface ChooseAccountProps {
  readonly projectName: string;
  readonly accounts: readonly ServiceAccount[];
  /** The selected account. */
  readonly account: ServiceAccount | undefined;
  readonly loader: ListLoader<ServiceAccount>;
  readonly onChoose: (account: ServiceAccount) => void;
}

function ChooseAccount(props: ChooseAccountProps): VNode {
  const { projectName, accounts, account, loader, onChoose } = props;
  const isCreating: Signal<boolean> = useSignal(accounts.length === 0);
  useFirstChoice(props);
  const created = (made: ServiceAccount): void => {
    isCreating.value = false;
    const { value } = loader.state.peek();
    if (value) loader.set({ ...value, items: [...value.items, made] });
    onChoose(made);
  };
  return (
    <>
      {accounts.length === 0 ? (
        <p>{texts.noAccount}</p>
      ) : (
        <SelectField
          label={texts.account}
          help={
            <>
              {texts.accountHelp}{' '}
              {account && <ResourceLink name={account.name}>{texts.page}</ResourceLink>}
            </>
          }
          value={account?.name ?? ''}
          options={[
            ...(account ? [] : [{ value: '', title: texts.choose }]),
            ...accounts.map(({ name, displayName }) => ({ value: name, title: displayName })),
          ]}
          onChange={(name) => {
            const chosen = accounts.find((one) => one.name === name);
            if (chosen) onChoose(chosen);
          }}
        />
      )}
      {isCreating.value ? (
        <CreateAccount
          projectName={projectName}
          onCreated={created}
          onCancel={
            accounts.length === 0
              ? undefined
              : () => {
                  isCreating.value = false;
                }
          }
        />
      ) : (
        <p>
          <button
            type="button"
            class="quiet"
            onClick={() => {
              isCreating.value = true;
            }}
          >
            {texts.createOther}
          </button>
        </p>
      )}
    </>
  );
}

/** Preselects the account if there is only one; the user can still create another. */
function useFirstChoice({ accounts, account, onChoose }: ChooseAccountProps): void {
  const [only] = accounts.length === 1 && account === undefined ? accounts : [];
  useEffect(() => {
    if (only) onChoose(only);
  }, [only]);
}

type Issuer = ServiceInfo['ciIssuers'][number];

/** Hidden if the service accepts tokens of only one platform. */
function Platform(props: {
  readonly issuer: string;
  readonly onChange: (issuer: string) => void;
}): VNode | null {
  const issuers: readonly Issuer[] = useServiceInfo().state.value.value?.ciIssuers ?? [];
  if (issuers.length < 2) return null;
  const chosen =
    issuers.find(({ name }) => name === props.issuer) ??
    issuers.find(({ name }) => name === 'github') ??
    issuers[0];
  return (
    <SelectField
      label={texts.platform}
      help={texts.platformHelp(chosen?.url ?? '')}
      value={chosen?.name ?? ''}
      options={issuers.map(({ name, kind }) => ({
        value: name,
        title:
          name === kind
            ? (platformNames[name] ?? name)
            : `${name} (${platformNames[kind] ?? kind})`,
      }))}
      onChange={props.onChange}
    />
  );
}
