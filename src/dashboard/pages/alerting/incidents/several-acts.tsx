/**
 * Acknowledge and snooze for the chosen rows, or for the row that has the focus. The service answers
 * for each one; what it refused stays chosen, with the reason.
 */
import { type Signal, useSignal } from '@preact/signals';
import type { VNode } from 'preact';
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
import { AcknowledgeDialog, type NoteDraft, SnoozeDialog } from './act-dialogs.tsx';
import { texts } from './incident-texts.ts';
import { titleOf } from './incident-words.ts';

type Result = ResponseOf<'AlertService', 'acknowledgeIncidents'>['results'][number];

/** The service takes so many at once. */
const NAMES_MAX = 200;

export interface SeveralActsProps {
  readonly projectName: string;
  readonly rows: readonly Incident[];
  /** Names of the chosen rows. */
  readonly chosen: Signal<ReadonlySet<string>>;
  /** The incidents as the service has them now. */
  readonly onDone: (incidents: readonly Incident[]) => void;
}

export function SeveralActs(props: SeveralActsProps): VNode {
  const { projectName, rows, chosen, onDone } = props;
  const dialog = useSignal<'acknowledge' | 'snooze' | undefined>(undefined);
  const target = useSignal<readonly string[]>([]);
  const refused = useSignal<readonly Result[]>([]);
  const draft = useDraft<NoteDraft>(`acknowledge several ${projectName}`, { note: '' });
  const acknowledge = useMutation('AlertService', 'acknowledgeIncidents');
  const snooze = useMutation('AlertService', 'snoozeIncidents');
  const saved = (text: string) => (response: { readonly results: readonly Result[] }) => {
    dialog.value = undefined;
    refused.value = response.results.filter(({ errorReason }) => errorReason !== '');
    chosen.value = new Set(refused.value.map(({ name }) => name));
    onDone(response.results.flatMap(({ incident }) => incident ?? []));
    if (refused.value.length < response.results.length) toast(text);
  };
  useSaved(acknowledge, (response) => {
    draft.discard();
    saved(texts.act.acknowledged)(response);
  });
  useSaved(snooze, saved(texts.page.snoozed));

  const open = (which: 'acknowledge' | 'snooze') => () => {
    const names = chosen.peek().size > 0 ? [...chosen.peek()] : focusedName(rows);
    if (names.length === 0 || names.length > NAMES_MAX || !mayDo('EDITOR')) return;
    target.value = names;
    dialog.value = which;
  };
  useShortcuts([
    { keys: 'a', name: common.shortcut.acknowledge, run: open('acknowledge') },
    { keys: 's', name: common.shortcut.snooze, run: open('snooze') },
  ]);
  const names = [...target.value];
  const status = (
    <>
      <MutationStatus of={acknowledge} refusedTitle={texts.act.refused} />
      <MutationStatus of={snooze} refusedTitle={texts.act.refused} />
    </>
  );
  return (
    <>
      <Refused results={refused.value} rows={rows} />
      {dialog.value === undefined && status}
      {chosen.value.size > 0 && <Bar chosen={chosen} onOpen={open} rows={rows} />}
      <AcknowledgeDialog
        isOpen={dialog.value === 'acknowledge'}
        onClose={() => {
          dialog.value = undefined;
        }}
        count={names.length}
        draft={draft}
        isBusy={isUnsettled(acknowledge.state.value)}
        status={status}
        onAcknowledge={(note) => void acknowledge.send({ projectName, names, note })}
      />
      <SnoozeDialog
        isOpen={dialog.value === 'snooze'}
        onClose={() => {
          dialog.value = undefined;
        }}
        count={names.length}
        isBusy={isUnsettled(snooze.state.value)}
        status={status}
        onSnooze={(ms) => void snooze.send({ projectName, names, untilUnix: unixOf(ms) })}
      />
    </>
  );
}

interface BarProps {
  readonly chosen: Signal<ReadonlySet<string>>;
  readonly rows: readonly Incident[];
  readonly onOpen: (which: 'acknowledge' | 'snooze') => () => void;
}

function Bar({ chosen, rows, onOpen }: BarProps): VNode {
  const count = chosen.value.size;
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

function Refused(props: { results: readonly Result[]; rows: readonly Incident[] }): VNode | null {
  const { results, rows } = props;
  if (results.length === 0) return null;
  return (
    <NoticeBox tone="warning" title={texts.act.notDone(results.length)} announce="alert">
      <ul>
        {results.map(({ name, errorReason, errorMessage }) => {
          const row = rows.find((one) => one.name === name);
          const why = explain({ reason: errorReason, message: errorMessage }).what;
          return (
            <li key={name}>
              <a href={`/${name}`}>{row ? titleOf(row) : name}</a>: {why}.
            </li>
          );
        })}
      </ul>
    </NoticeBox>
  );
}

/** The row that has the focus, for keys pressed there. */
function focusedName(rows: readonly Incident[]): readonly string[] {
  const row = document.activeElement?.closest<HTMLElement>('tr[data-row]');
  const incident = row && rows[Number(row.dataset.row)];
  return incident ? [incident.name] : [];
}
