/**
 * Acknowledge and snooze for the selected rows, or for the focused row. The service responds for
 * each incident; rejected ones stay selected, with the reason.
 */
import { type Signal, useSignal } from '@preact/signals';
import type { VNode } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { ActionButton } from '../../../components/action-button.tsx';
import { MutationStatus } from '../../../components/mutation-status.tsx';
import { NoticeBox } from '../../../components/notice-box.tsx';
import { useShortcuts } from '../../../components/shortcuts.ts';
import { toast } from '../../../components/toasts.tsx';
import { useDraft } from '../../../data/draft.ts';
import { isUnsettled, useMutation, useSaved } from '../../../data/mutation.ts';
import { unixOf } from '../../../data/names.ts';
import { mayDo } from '../../../data/projects.ts';
import type { ResponseOf } from '../../../data/rpc-types.ts';
import type { Incident } from '../../../data/watch.ts';
import { texts as common } from '../../../messages/en.ts';
import { explain } from '../../../messages/errors.ts';
import {
  AcknowledgeDialog,
  type NoteDraft,
  SnoozeDialog,
  type UntilDraft,
} from './act-dialogs.tsx';
import { texts } from './incident-texts.ts';
import { placeOf, titleOf } from './incident-words.ts';

type Action = 'acknowledge' | 'snooze';
type Result = ResponseOf<'AlertService', 'acknowledgeIncidents'>['results'][number];

/** Maximum number of incidents per request. */
const NAMES_MAX = 200;

export interface SeveralActionsProps {
  readonly projectName: string;
  /** Displayed incidents; no others are changed. */
  readonly rows: readonly Incident[];
  /** Names of the selected rows; some may have left the list. Each filter has its own signal. */
  readonly chosen: Signal<ReadonlySet<string>>;
  /** Called with the updated incidents. */
  readonly onDone: (incidents: readonly Incident[]) => void;
}

export function SeveralActions(props: SeveralActionsProps): VNode {
  const { projectName, rows, chosen, onDone } = props;
  const { act, names, marked, known, open, close } = useAction(rows, chosen);
  const refused = useSignal<readonly Result[]>([]);
  const draft = useDraft<NoteDraft>(`acknowledge several ${projectName}`, { note: '' });
  const untilDraft = useDraft<UntilDraft>(`snooze several ${projectName}`, { until: '' });
  const acknowledge = useMutation('AlertService', 'acknowledgeIncidents');
  const snooze = useMutation('AlertService', 'snoozeIncidents');
  const saved = (text: string, { results }: { readonly results: readonly Result[] }): void => {
    close();
    refused.value = results.filter(({ errorReason }) => errorReason !== '');
    chosen.value = new Set(refused.value.map(({ name }) => name));
    onDone(results.flatMap(({ incident }) => incident ?? []));
    if (refused.value.length < results.length) toast(text);
  };
  useSaved(acknowledge, (response) => {
    draft.discard();
    saved(texts.act.acknowledged, response);
  });
  useSaved(snooze, (response) => {
    untilDraft.discard();
    saved(texts.page.snoozed, response);
  });
  useShortcuts([
    { keys: 'a', name: common.shortcut.acknowledge, run: open('acknowledge') },
    { keys: 's', name: common.shortcut.snooze, run: open('snooze') },
  ]);
  const status = (
    <>
      <MutationStatus of={acknowledge} refusedTitle={texts.act.refused} />
      <MutationStatus of={snooze} refusedTitle={texts.act.refused} />
    </>
  );
  const frame = (which: Action, { state }: typeof acknowledge | typeof snooze) => ({
    isOpen: act === which,
    isBusy: isUnsettled(state.value),
    onClose: close,
    count: names.length,
    status,
  });
  return (
    <>
      <Refused results={refused.value} known={known} />
      {act === undefined && status}
      {marked.length > 0 && <Bar count={marked.length} chosen={chosen} onOpen={open} rows={rows} />}
      <AcknowledgeDialog
        {...frame('acknowledge', acknowledge)}
        draft={draft}
        onAcknowledge={(note) => void acknowledge.send({ projectName, names, note })}
      />
      <SnoozeDialog
        {...frame('snooze', snooze)}
        draft={untilDraft}
        onSnooze={(ms) => void snooze.send({ projectName, names, untilUnix: unixOf(ms) })}
      />
    </>
  );
}

interface OpenAction {
  /** The open dialog. */
  readonly act: Action | undefined;
  /** Incidents affected by the dialog. */
  readonly names: string[];
  /** The selected rows. */
  readonly marked: readonly Incident[];
  /** Incidents of this and earlier dialogs, by name: they may have left the list. */
  readonly known: ReadonlyMap<string, Incident>;
  open(act: Action): () => void;
  close(): void;
}

/** The dialog and its rows: the selected ones, or the focused one. */
function useAction(rows: readonly Incident[], chosen: Signal<ReadonlySet<string>>): OpenAction {
  const opened = useSignal<Action | undefined>(undefined);
  const names = useSignal<readonly string[]>([]);
  const { current: known } = useRef(new Map<string, Incident>());
  const close = (): void => {
    opened.value = undefined;
  };
  // Under another filter, the incidents of the dialog may not be visible.
  useEffect(close, [chosen]);
  const marked = rows.filter(({ name }) => chosen.value.has(name));
  const open = (act: Action) => () => {
    const incidents = marked.length > 0 ? marked : focusedRow(rows);
    if (incidents.length === 0 || incidents.length > NAMES_MAX || !mayDo('EDITOR')) return;
    for (const incident of incidents) known.set(incident.name, incident);
    names.value = incidents.map(({ name }) => name);
    opened.value = act;
  };
  return { act: opened.value, names: [...names.value], marked, known, open, close };
}

interface BarProps {
  readonly count: number;
  readonly chosen: Signal<ReadonlySet<string>>;
  readonly rows: readonly Incident[];
  readonly onOpen: (act: Action) => () => void;
}

function Bar({ count, chosen, rows, onOpen }: BarProps): VNode {
  const blocked = count > NAMES_MAX ? texts.list.chosenMax(NAMES_MAX) : undefined;
  return (
    <div class="chosen-bar" role="status">
      <strong>{texts.list.chosen(count)}</strong>
      <ActionButton needs="EDITOR" blocked={blocked} onPress={onOpen('acknowledge')}>
        {texts.act.acknowledge}
      </ActionButton>
      <ActionButton needs="EDITOR" look="quiet" blocked={blocked} onPress={onOpen('snooze')}>
        {texts.act.snooze}
      </ActionButton>
      <button
        type="button"
        class="quiet choose-many"
        onClick={() => {
          chosen.value = new Set(rows.slice(0, NAMES_MAX).map(({ name }) => name));
        }}
      >
        {texts.list.chooseAll(Math.min(NAMES_MAX, rows.length))}
      </button>
      <button
        type="button"
        class="quiet"
        onClick={() => {
          chosen.value = new Set();
        }}
      >
        {texts.list.clear}
      </button>
    </div>
  );
}

interface RefusedProps {
  readonly results: readonly Result[];
  /** Incidents by name. */
  readonly known: ReadonlyMap<string, Incident>;
}

function Refused({ results, known }: RefusedProps): VNode | null {
  if (results.length === 0) return null;
  return (
    <NoticeBox tone="warning" title={texts.act.notDone(results.length)} announce="alert">
      <ul>
        {results.map(({ name, errorReason, errorMessage }) => {
          const incident = known.get(name);
          const why = explain({ reason: errorReason, message: errorMessage }).what;
          return (
            <li key={name}>
              <a href={`/${name}`}>
                {incident ? `${titleOf(incident)}, ${placeOf(incident)}` : name}
              </a>
              : {why}.
            </li>
          );
        })}
      </ul>
    </NoticeBox>
  );
}

/** The focused row, for keys pressed there. */
function focusedRow(rows: readonly Incident[]): readonly Incident[] {
  const row = document.activeElement?.closest<HTMLElement>('tr[data-row]');
  const incident = row && rows[Number(row.dataset.row)];
  return incident ? [incident] : [];
}
