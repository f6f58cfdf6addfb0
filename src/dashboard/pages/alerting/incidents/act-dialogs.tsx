/**
 * Dialogs for acknowledging or snoozing one or several incidents. Each button describes its effect.
 * Input survives Escape and the end of the session.
 */
import type { ComponentChildren, VNode } from 'preact';
import { useId } from 'preact/hooks';
import { ActionButton } from '../../../components/action-button.tsx';
import { Dialog } from '../../../components/dialog.tsx';
import { RestoredNote } from '../../../components/restored-note.tsx';
import { nowMs } from '../../../data/clock.ts';
import type { Draft } from '../../../data/draft.ts';
import { format, preferences } from '../../../data/preferences.ts';
import { texts as common } from '../../../messages/en.ts';
import { formatTime } from '../../../messages/format.ts';
import { texts } from './incident-texts.ts';
import { fieldOf, latestUntilMs, untilOf, untilProblem, untilText } from './incident-words.ts';

const NOTE_CHARS_MAX = 1_000;

interface ActionDialogProps {
  readonly isOpen: boolean;
  readonly onClose: () => void;
  /** Number of affected incidents. */
  readonly count: number;
  readonly isBusy: boolean;
  /** Outcome of the change. */
  readonly status: ComponentChildren;
}

export interface NoteDraft {
  readonly note: string;
}

interface AcknowledgeProps extends ActionDialogProps {
  readonly draft: Draft<NoteDraft>;
  readonly onAcknowledge: (note: string) => void;
}

export function AcknowledgeDialog(props: AcknowledgeProps): VNode {
  const { isOpen, onClose, count, isBusy, status, draft, onAcknowledge } = props;
  const { note } = draft.value.value;
  return (
    <Dialog
      title={texts.act.acknowledgeTitle(count)}
      isOpen={isOpen}
      onClose={onClose}
      actions={
        <>
          <button type="button" class="quiet" onClick={onClose}>
            {common.cancel}
          </button>
          <ActionButton
            needs="EDITOR"
            isBusy={isBusy}
            effect={texts.act.acknowledgeEffect}
            onPress={() => onAcknowledge(note)}
          >
            {texts.act.acknowledge}
          </ActionButton>
        </>
      }
    >
      <label class="form-field">
        {texts.act.note}
        <textarea
          rows={3}
          maxLength={NOTE_CHARS_MAX}
          value={note}
          onInput={({ currentTarget }) => {
            draft.value.value = { note: currentTarget.value };
          }}
        />
      </label>
      <RestoredNote draft={draft} />
      {status}
    </Dialog>
  );
}

export interface UntilDraft {
  /** Value of the field: `2026-11-23T08:00`. */
  readonly until: string;
}

interface SnoozeProps extends ActionDialogProps {
  readonly draft: Draft<UntilDraft>;
  readonly onSnooze: (untilMs: number) => void;
}

/** Durations offered as buttons, hours. */
const SNOOZE_HOURS = [1, 4];
const HOUR_MS = 3_600_000;

export function SnoozeDialog(props: SnoozeProps): VNode {
  const { isOpen, onClose, count, isBusy, status, draft, onSnooze } = props;
  const effect = (untilMs: number): string =>
    texts.act.snoozeEffect(untilText(untilMs, nowMs.value, format.value));
  return (
    <Dialog title={texts.act.snoozeTitle(count)} isOpen={isOpen} onClose={onClose}>
      <div class="snooze-lengths">
        {SNOOZE_HOURS.map((hours) => (
          <ActionButton
            key={hours}
            needs="EDITOR"
            isBusy={isBusy}
            effect={effect(nowMs.value + hours * HOUR_MS)}
            onPress={() => onSnooze(nowMs.peek() + hours * HOUR_MS)}
          >
            {texts.act.forHours(hours)}
          </ActionButton>
        ))}
      </div>
      <SnoozeUntil isBusy={isBusy} draft={draft} effect={effect} onSnooze={onSnooze} />
      {status}
    </Dialog>
  );
}

interface SnoozeUntilProps extends Pick<SnoozeProps, 'isBusy' | 'draft' | 'onSnooze'> {
  readonly effect: (untilMs: number) => string;
}

function SnoozeUntil({ isBusy, draft, effect, onSnooze }: SnoozeUntilProps): VNode {
  const isUtc = preferences.zone.value === 'utc';
  const { until } = draft.value.value;
  const hintId = useId();
  const now = nowMs.value;
  const untilMs = untilOf(until, isUtc, now);
  const problem = untilProblem(until, isUtc);
  return (
    <div class="snooze-until">
      <label class="form-field">
        {texts.act.untilTime}
        <input
          type="datetime-local"
          value={until}
          min={fieldOf(now, isUtc)}
          max={fieldOf(latestUntilMs(now), isUtc)}
          aria-describedby={hintId}
          onInput={({ currentTarget }) => {
            draft.value.value = { until: currentTarget.value };
          }}
        />
      </label>
      <small id={hintId} class="weak">
        {untilMs === undefined
          ? texts.act.untilZone(isUtc ? common.utc : common.local)
          : formatTime(untilMs, now, format.value)}
      </small>
      <RestoredNote draft={draft} />
      <ActionButton
        needs="EDITOR"
        look="quiet"
        isBusy={isBusy}
        blocked={untilMs === undefined ? (problem ?? texts.act.chooseTime) : undefined}
        effect={untilMs === undefined ? undefined : effect(untilMs)}
        onPress={() => {
          if (untilMs !== undefined) onSnooze(untilMs);
        }}
      >
        {texts.act.snoozeUntil}
      </ActionButton>
    </div>
  );
}
