/**
 * Creates a destination: first its kind, kept in the address, then its fields. The secret of a
 * webhook is shown once, before the page of the destination. Drafts do not contain URLs.
 */

import { useSignal } from '@preact/signals';
import type { VNode } from 'preact';
import { ActionButton } from '../../components/action-button.tsx';
import { MutationStatus } from '../../components/mutation-status.tsx';
import { toast } from '../../components/toasts.tsx';
import type { Destination } from '../../data/catalogue.ts';
import { typing, useDraft } from '../../data/draft.ts';
import { isUnsettled, useMutation, useSaved } from '../../data/mutation.ts';
import type { ResponseOf } from '../../data/rpc-types.ts';
import { useServiceInfo } from '../../data/service-info.ts';
import { pageTitles } from '../../layout/texts.ts';
import { navigate, query } from '../../router/location.ts';
import { pathOf } from '../../router/match.ts';
import { AboveTitle } from '../above-title.tsx';
import type { PageProps } from '../page.ts';
import { DestinationFields } from './destination-fields.tsx';
import { texts as all, kinds } from './destination-texts.ts';
import { KINDS, type Kind, titleOf } from './destination-words.ts';
import { GroupWaitField } from './group-wait.tsx';
import { WebhookSecret, type WithSecret } from './webhook-secret.tsx';

const texts = all.create;

export function Page({ parameters }: PageProps): VNode {
  const { project = '' } = parameters;
  const kind = KINDS.find((one) => one === query.value.get('kind'));
  return (
    <>
      <AboveTitle list="destinations" project={project} />
      <h1>{kind === undefined ? pageTitles.newDestination : texts.title(kinds[kind].title)}</h1>
      {kind === undefined ? (
        <Kinds project={project} />
      ) : (
        <Create key={kind} kind={kind} project={project} />
      )}
    </>
  );
}

function Kinds({ project }: { readonly project: string }): VNode {
  const info = useServiceInfo();
  const hasNoMail = info.state.value.value?.hasMail === false;
  return (
    <>
      <p>{texts.choose}</p>
      <ul class="projects">
        {KINDS.map((kind) => (
          <li key={kind}>
            <a href={`${pathOf('newDestination', { project })}?kind=${kind}`}>
              <strong>{kinds[kind].title}</strong>
              <span class="weak">
                {kind === 'email' && hasNoMail ? texts.noMail : kinds[kind].help}
              </span>
            </a>
          </li>
        ))}
      </ul>
    </>
  );
}

interface Fields {
  readonly displayName: string;
  readonly url: string;
  readonly recipients: readonly string[];
  readonly groupWaitSeconds?: number | undefined;
}

const NOTHING: Fields = { displayName: '', url: '', recipients: [] };

interface CreateProps {
  readonly kind: Kind;
  readonly project: string;
}

function Create({ kind, project }: CreateProps): VNode {
  const projectName = `projects/${project}`;
  const draft = useDraft<Fields>(`newDestination ${projectName} ${kind}`, NOTHING, ['url']);
  const create = useMutation('AlertService', 'createDestination');
  const info = useServiceInfo();
  const state = create.state.value;
  useSaved(create, ({ destination }) => {
    draft.discard();
    if (destination === undefined) return;
    toast(texts.created(titleOf(destination)));
    if (kind !== 'webhook') navigate(`/${destination.name}`, { replace: true });
  });
  if (state.kind === 'done' && state.response.destination && kind === 'webhook') {
    return <Created response={state.response} destination={state.response.destination} />;
  }
  const fields = draft.value.value;
  const type = typing(draft, create);
  const hasNoMail = kind === 'email' && info.state.value.value?.hasMail === false;
  return (
    <div class="form">
      <DestinationFields
        projectName={projectName}
        isMail={kind === 'email'}
        fields={fields}
        type={type}
        urlHelp={kinds[kind].urlHelp}
        nameHelp={texts.nameHelp}
      />
      <GroupWaitField
        seconds={fields.groupWaitSeconds}
        usual={kind === 'webhook' ? all.groupWait.usualWebhook : all.groupWait.usual}
        onChange={(groupWaitSeconds) => type({ groupWaitSeconds })}
      />
      <div class="buttons">
        <ActionButton
          needs="EDITOR"
          blocked={hasNoMail ? texts.noMail : missingOf(kind, fields)}
          isBusy={isUnsettled(state)}
          onPress={() => void create.send({ projectName, destination: requestOf(kind, fields) })}
        >
          {texts.action}
        </ActionButton>
        <a href={pathOf('newDestination', { project })}>{texts.otherKind}</a>
      </div>
      <MutationStatus of={create} refusedTitle={texts.refused} />
    </div>
  );
}

function missingOf(kind: Kind, { displayName, url, recipients }: Fields): string | undefined {
  if (displayName.trim() === '') return texts.nameMissing;
  if (kind === 'email') return recipients.length === 0 ? texts.noRecipient : undefined;
  return url.trim() === '' ? texts.urlMissing : undefined;
}

function requestOf(kind: Kind, fields: Fields) {
  const { displayName, url, recipients, groupWaitSeconds } = fields;
  const target =
    kind === 'email'
      ? { email: { recipients: recipients.map((address) => ({ address })) } }
      : { [kind]: { url: url.trim() } };
  const wait = groupWaitSeconds === undefined ? {} : { groupWaitSeconds };
  return { displayName: displayName.trim(), ...target, ...wait };
}

/** A created webhook: its secret is shown until the user has stored it. */
function Created(props: {
  readonly response: ResponseOf<'AlertService', 'createDestination'>;
  readonly destination: Destination;
}): VNode {
  const { response, destination } = props;
  const rotated = useSignal<WithSecret | undefined>(undefined);
  return (
    <>
      <p role="status">
        {texts.created(titleOf(destination))}. {texts.secretHelp}
      </p>
      <WebhookSecret
        destination={destination}
        displayed={rotated.value ?? response}
        onStored={() => navigate(`/${destination.name}`, { replace: true })}
        onRotated={(answer) => {
          rotated.value = answer;
        }}
      />
    </>
  );
}
