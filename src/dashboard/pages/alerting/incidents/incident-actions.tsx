/**
 * Actions on one incident: acknowledge, snooze, end the snooze. On a phone the buttons stay at the
 * bottom of the screen, so that two taps suffice.
 */
import { useSignal } from '@preact/signals';
import type { VNode } from 'preact';
import { useEffect } from 'preact/hooks';
import { ActionButton } from '../../../components/action-button.tsx';
import { MutationStatus } from '../../../components/mutation-status.tsx';
import { useShortcuts } from '../../../components/shortcuts.ts';
import { toast } from '../../../components/toasts.tsx';
import { nowMs } from '../../../data/clock.ts';
import { useDraft } from '../../../data/draft.ts';
import { isUnsettled, type Mutation, useMutation, useSaved } from '../../../data/mutation.ts';
import { unixOf } from '../../../data/names.ts';
import { format } from '../../../data/preferences.ts';
import { mayDo } from '../../../data/projects.ts';
import type { Incident } from '../../../data/watch.ts';
import { texts as common } from '../../../messages/en.ts';
import {
  AcknowledgeDialog,
  type NoteDraft,
  SnoozeDialog,
  type UntilDraft,
} from './act-dialogs.tsx';
import { texts } from './incident-texts.ts';
import { isOpen, snoozedUntilMs, untilText } from './incident-words.ts';

type Action = 'acknowledge' | 'snooze';

export interface IncidentActionsProps {
  readonly incident: Incident;
  /** Called with the service's response: the updated incident. */
  readonly onSaved: (incident: Incident) => void;
}

export function IncidentActions({ incident, onSaved }: IncidentActionsProps): VNode {
  const { name } = incident;
  const dialog = useSignal<Action | undefined>(undefined);
  const draft = useDraft<NoteDraft>(`acknowledge ${name}`, { note: '' });
  const untilDraft = useDraft<UntilDraft>(`snooze ${name}`, { until: '' });
  const acknowledge = useMutation('AlertService', 'acknowledgeIncident');
  const snooze = useMutation('AlertService', 'snoozeIncident');
  const unsnooze = useMutation('AlertService', 'unsnoozeIncident');
  const close = (): void => {
    dialog.value = undefined;
  };
  const saved = (text: (incident: Incident) => string) => (response: Incident) => {
    close();
    toast(text(response));
    onSaved(response);
  };
  useSaved(acknowledge, (response) => {
    draft.discard();
    saved(() => texts.act.acknowledged)(response);
  });
  useSaved(snooze, (response) => {
    untilDraft.discard();
    saved(snoozedToast)(response);
  });
  useSaved(
    unsnooze,
    saved(() => texts.act.unsnoozed),
  );
  // Reopens the dialog if a note was being written when the page was closed.
  useEffect(() => {
    if (draft.isTyped() && !isAcknowledged(incident)) dialog.value = 'acknowledge';
  }, [draft]);

  const blocked = blockedActions(incident);
  const open = (which: Action) => () => {
    if (blocked[which] === undefined && mayDo('EDITOR')) dialog.value = which;
  };
  useShortcuts([
    { keys: 'a', name: common.shortcut.acknowledge, run: open('acknowledge') },
    { keys: 's', name: common.shortcut.snooze, run: open('snooze') },
  ]);
  const status = <Statuses of={[acknowledge, snooze, unsnooze]} />;
  const frame = (which: Action, { state }: typeof acknowledge | typeof snooze) => ({
    isOpen: dialog.value === which,
    isBusy: isUnsettled(state.value),
    onClose: close,
    count: 1,
    status,
  });
  return (
    <>
      {dialog.value === undefined && status}
      <Buttons incident={incident} open={open} unsnooze={unsnooze} />
      <AcknowledgeDialog
        {...frame('acknowledge', acknowledge)}
        draft={draft}
        onAcknowledge={(note) => void acknowledge.send({ name, note })}
      />
      <SnoozeDialog
        {...frame('snooze', snooze)}
        draft={untilDraft}
        onSnooze={(ms) => void snooze.send({ name, untilUnix: unixOf(ms) })}
      />
    </>
  );
}

interface ButtonsProps {
  readonly incident: Incident;
  readonly open: (which: Action) => () => void;
  readonly unsnooze: Mutation<{ name: string }, Incident>;
}

function Buttons({ incident, open, unsnooze }: ButtonsProps): VNode {
  const { name } = incident;
  const blocked = blockedActions(incident);
  const isSnoozed = snoozedUntilMs(incident, nowMs.value) !== undefined;
  return (
    <div class="sticky-acts">
      <ActionButton
        needs="EDITOR"
        blocked={blocked.acknowledge}
        effect={texts.act.acknowledgeEffect}
        onPress={open('acknowledge')}
      >
        {texts.act.acknowledge}
      </ActionButton>
      <ActionButton
        needs="EDITOR"
        look="quiet"
        blocked={blocked.snooze}
        effect={texts.act.snoozeHint}
        onPress={open('snooze')}
      >
        {texts.act.snooze}
      </ActionButton>
      {isSnoozed && isOpen(incident) && (
        <ActionButton
          needs="EDITOR"
          look="quiet"
          isBusy={isUnsettled(unsnooze.state.value)}
          effect={texts.act.unsnoozeEffect}
          onPress={() => void unsnooze.send({ name })}
        >
          {texts.act.unsnooze}
        </ActionButton>
      )}
    </div>
  );
}

function snoozedToast(incident: Incident): string {
  const untilMs = snoozedUntilMs(incident, nowMs.peek());
  if (untilMs === undefined) return texts.act.ended;
  return texts.act.snoozed(untilText(untilMs, nowMs.peek(), format.peek()));
}

function Statuses({ of }: { of: readonly Mutation<never, Incident>[] }): VNode {
  return (
    <>
      {of.map((mutation, i) => (
        <MutationStatus key={i} of={mutation} refusedTitle={texts.act.refused} />
      ))}
    </>
  );
}

function isAcknowledged({ acknowledged }: Incident): boolean {
  return acknowledged !== undefined;
}

/** Why an action is not possible now, in words. */
function blockedActions(incident: Incident): Readonly<Record<Action, string | undefined>> {
  const snooze = isOpen(incident) ? undefined : texts.act.ended;
  return {
    snooze,
    acknowledge: snooze ?? (isAcknowledged(incident) ? texts.act.already : undefined),
  };
}
