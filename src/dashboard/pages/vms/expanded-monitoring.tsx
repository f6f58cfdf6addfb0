/**
 * Expanded monitoring of a VM: not available, off, a token waiting for the agent, or on. Viewing
 * changes nothing; turning it on creates a token, which is shown once.
 */
import type { VNode } from 'preact';
import { ActDialog, useDialogs } from '../../components/act-dialog.tsx';
import { ActionButton } from '../../components/action-button.tsx';
import { Badge } from '../../components/badges.tsx';
import { CopyButton } from '../../components/copy-button.tsx';
import { MutationStatus } from '../../components/mutation-status.tsx';
import { SecretOnce } from '../../components/secret-once.tsx';
import { Age, msOf, Time } from '../../components/time.tsx';
import type { Vm } from '../../data/catalogue.ts';
import { useMutation } from '../../data/mutation.ts';
import type { ResponseOf } from '../../data/rpc-types.ts';
import { texts as all } from './texts.ts';

const texts = all.expanded;
type Enrolled = ResponseOf<'ProjectService', 'enrolVm'>;
type Expanded = NonNullable<Vm['expanded']>;

export interface ExpandedMonitoringProps {
  readonly vm: Vm;
  readonly title: string;
  /** Called when the VM must be reloaded. */
  readonly onChanged: () => void;
}

export function ExpandedMonitoring({ vm, title, onChanged }: ExpandedMonitoringProps): VNode {
  const { expanded } = vm;
  return (
    <section aria-labelledby="expanded" class="panel">
      <h2 id="expanded">{texts.title}</h2>
      <p class="weak">{texts.about}</p>
      {expanded && <State expanded={expanded} />}
      {expanded && <Actions vm={vm} expanded={expanded} title={title} onChanged={onChanged} />}
    </section>
  );
}

/** Its state in a word or two: `On`. */
export function expandedText({ available, state }: Expanded): string {
  if (state === 'ON') return texts.on;
  if (state === 'OFFERED') return texts.offered;
  return available ? texts.off : texts.notAvailable;
}

function State({ expanded }: { readonly expanded: Expanded }): VNode {
  const { available, reason, state, tokenExpiresUnix, lastObservedUnix } = expanded;
  const reasons: Readonly<Record<string, string>> = texts.reasons;
  const untilMs = msOf(tokenExpiresUnix);
  const observedMs = msOf(lastObservedUnix);
  if (state === 'OFFERED') {
    return (
      <p>
        <Badge tone="waiting" text={texts.offered} />{' '}
        {untilMs !== undefined && (
          <>
            {texts.offeredUntil} <Time ms={untilMs} />
          </>
        )}
      </p>
    );
  }
  if (state === 'ON') {
    return (
      <p>
        <Badge tone="good" text={texts.on} /> {texts.lastReading}:{' '}
        <Age ms={observedMs} absent={texts.noReading} />
      </p>
    );
  }
  return available ? (
    <p>
      <Badge tone="off" text={texts.off} />
    </p>
  ) : (
    <p>
      <Badge tone="off" text={texts.unavailable} /> {reasons[reason] ?? reason}
    </p>
  );
}

function Actions(props: ExpandedMonitoringProps & { readonly expanded: Expanded }): VNode | null {
  const { vm, expanded, title, onChanged } = props;
  const enrol = useMutation('ProjectService', 'enrolVm');
  const { open, frame } = useDialogs<'unenrol'>();
  const { state, available } = expanded;
  const enrolled = enrol.state.value;
  if (enrolled.kind === 'done') {
    return (
      <Token
        enrolled={enrolled.response}
        onStored={() => {
          enrol.reset();
          onChanged();
        }}
      />
    );
  }
  if (!available && state === 'OFF') return null;
  return (
    <>
      <div class="buttons acts">
        {available && (
          <ActionButton
            needs="EDITOR"
            look={state === 'OFF' ? 'main' : 'quiet'}
            isBusy={enrolled.kind === 'sending'}
            effect={state === 'OFF' ? texts.enrolEffect : texts.againEffect}
            onPress={() => void enrol.send({ vmName: vm.name })}
          >
            {state === 'OFF' ? texts.enrol : texts.again}
          </ActionButton>
        )}
        {state !== 'OFF' && (
          <ActionButton
            needs="EDITOR"
            look="danger"
            effect={state === 'OFFERED' ? texts.withdrawEffect : texts.unenrolEffect}
            onPress={open('unenrol')}
          >
            {state === 'OFFERED' ? texts.withdraw : texts.unenrol}
          </ActionButton>
        )}
      </div>
      <MutationStatus of={enrol} />
      <ActDialog
        {...frame('unenrol')}
        method={['ProjectService', 'unenrolVm']}
        title={texts.unenrolAsk(title)}
        action={texts.unenrol}
        needs="EDITOR"
        request={() => ({ vmName: vm.name })}
        done={texts.ended}
        onSaved={onChanged}
      >
        <p>{texts.unenrolEffect}</p>
      </ActDialog>
    </>
  );
}

function Token(props: { readonly enrolled: Enrolled; readonly onStored: () => void }): VNode {
  const { enrolled, onStored } = props;
  return (
    <>
      <p>{texts.command}:</p>
      <p class="command">
        <code>{enrolled.installCommand}</code>
        <CopyButton text={enrolled.installCommand} />
      </p>
      <SecretOnce
        label={texts.token}
        secret={enrolled.secretAvailable ? enrolled.enrolmentToken : undefined}
        onStored={onStored}
        replace={
          <button type="button" class="quiet" onClick={onStored}>
            {texts.again}
          </button>
        }
      />
    </>
  );
}
