/**
 * The maintenance windows of a project: scope, start, end and author. Editors plan them, call them
 * off and end them early.
 */

import type { VNode } from 'preact';
import {
  ActDialog,
  type DialogFrame,
  useChosen,
  useDialogs,
} from '../../../components/act-dialog.tsx';
import { ActionButton } from '../../../components/action-button.tsx';
import { Badge, type Tone } from '../../../components/badges.tsx';
import { Filters, SelectFilter } from '../../../components/filters.tsx';
import { ListTable } from '../../../components/list-table.tsx';
import type { Column } from '../../../components/table.tsx';
import { Age, msOf, Time } from '../../../components/time.tsx';
import { type Listing, type ListLoader, pagesOf, useListing } from '../../../data/listing.ts';
import { pageTitles } from '../../../layout/texts.ts';
import { query } from '../../../router/location.ts';
import type { PageProps } from '../../page.ts';
import { coveredText, type MaintenanceWindow } from './maintenance.ts';
import { stateNames, texts } from './maintenance-texts.ts';
import { PlanMaintenance } from './plan-maintenance.tsx';

const ROWS = 100;
const POLL_SECONDS = 30;
/** Polling interval while still-firing incidents are being announced, which takes a moment, s. */
const ENDING_POLL_SECONDS = 2;

export function Page({ parameters }: PageProps): VNode {
  const projectName = `projects/${parameters.project}`;
  const list = useWindows(projectName);
  const { open, frame } = useDialogs<'plan'>();
  const plan = open('plan');
  const ending = useChosen<MaintenanceWindow>();
  const columns = columnsOf(ending.choose);
  return (
    <>
      <div class="section-head">
        <h1>{pageTitles.maintenanceWindows}</h1>
        <ActionButton needs="EDITOR" onPress={plan}>
          {texts.plan.open}
        </ActionButton>
      </div>
      <p class="weak">{texts.about}</p>
      <ShowFilter />
      <ListTable
        of={list}
        label={texts.label}
        columns={columns}
        keyOf={({ name }) => name}
        empty={<NoWindows />}
      />
      <PlanMaintenance
        projectName={projectName}
        {...frame('plan')}
        onRestored={plan}
        onSaved={list.reload}
      />
      <EndMaintenance {...ending.frame} window={ending.value} onSaved={list.reload} />
    </>
  );
}

/** The current windows of the project, or all of them if the address says so. */
function useWindows(projectName: string): ListLoader<MaintenanceWindow> {
  const includeOver = query.value.get('show') === 'all';
  return useListing<MaintenanceWindow>(
    `maintenanceWindows ${projectName} ${includeOver}`,
    pagesOf('MaintenanceService', 'listMaintenanceWindows', 'windows', {
      projectName,
      includeOver,
      pageSize: ROWS,
    }),
    { rows: ROWS, pollSeconds },
  );
}

function pollSeconds(windows: Listing<MaintenanceWindow> | undefined): number {
  const isEnding = windows?.items.some(({ state }) => state === 'ANNOUNCING');
  return isEnding ? ENDING_POLL_SECONDS : POLL_SECONDS;
}

function ShowFilter(): VNode {
  return (
    <Filters names={['show']}>
      <SelectFilter
        name="show"
        label={texts.show}
        all={texts.current}
        options={[{ value: 'all', title: texts.withOver }]}
      />
    </Filters>
  );
}

function NoWindows(): VNode {
  return (
    <>
      <strong>{texts.none}</strong>
      <p>{texts.noneHelp}</p>
    </>
  );
}

const tones: Readonly<Record<string, Tone>> = {
  SCHEDULED: 'waiting',
  ACTIVE: 'warning',
  ANNOUNCING: 'waiting',
  OVER: 'off',
  CANCELLED: 'off',
};

function columnsOf(
  onEnd: (window: MaintenanceWindow) => void,
): readonly Column<MaintenanceWindow>[] {
  return [
    {
      key: 'covers',
      title: texts.covers,
      width: 'grow',
      cell: (window) => (
        <>
          <strong>{coveredText(window)}</strong>
          {window.note !== '' && <small class="effect under">{window.note}</small>}
        </>
      ),
    },
    {
      key: 'state',
      title: texts.state,
      cell: ({ state }) => (
        <Badge tone={tones[state] ?? 'info'} text={stateNames[state] ?? state} />
      ),
    },
    { key: 'from', title: texts.from, phone: 'labelled', cell: (one) => <From of={one} /> },
    { key: 'until', title: texts.until, phone: 'labelled', cell: (one) => <Until of={one} /> },
    {
      key: 'by',
      title: texts.by,
      phone: 'hide',
      cell: ({ createdBy, createdByDisplayName, endedBy, endedByDisplayName }) => (
        <>
          {createdByDisplayName || createdBy}
          {endedBy !== '' && (
            <small class="effect under">
              {texts.endedAt} {texts.endedBy(endedByDisplayName || endedBy)}
            </small>
          )}
        </>
      ),
    },
    {
      key: 'end',
      title: texts.actions,
      cell: (window) =>
        mayEnd(window) && (
          <ActionButton needs="EDITOR" look="quiet" onPress={() => onEnd(window)}>
            {endTextsOf(window).open}
            <span class="visually-hidden"> {coveredText(window)}</span>
          </ActionButton>
        ),
    },
  ];
}

function timeOf(unix: string | undefined): VNode | undefined {
  const ms = msOf(unix);
  return ms === undefined ? undefined : <Time ms={ms} />;
}

/** Only the next change has its distance in time below it. */
function From({ of: { state, fromUnix } }: { readonly of: MaintenanceWindow }): VNode {
  return (
    <>
      {timeOf(fromUnix)}
      {state === 'SCHEDULED' && <HowFar unix={fromUnix} />}
    </>
  );
}

function Until({ of: window }: { readonly of: MaintenanceWindow }): VNode {
  const { state, endedUnix, untilUnix } = window;
  return (
    <>
      {timeOf(endedUnix ?? untilUnix)}
      {state === 'ACTIVE' && <HowFar unix={untilUnix} />}
    </>
  );
}

function HowFar({ unix }: { readonly unix: string | undefined }): VNode {
  return (
    <small class="effect under">
      <Age ms={msOf(unix)} />
    </small>
  );
}

function mayEnd({ state }: MaintenanceWindow): boolean {
  return state === 'SCHEDULED' || state === 'ACTIVE';
}

/** A window that has not started is called off. */
function endTextsOf({ state }: MaintenanceWindow): typeof texts.end {
  return state === 'SCHEDULED' ? texts.callOff : texts.end;
}

interface EndProps extends DialogFrame {
  /** Undefined if no window is being ended. */
  readonly window: MaintenanceWindow | undefined;
  readonly onSaved: () => void;
}

function EndMaintenance({ window, onSaved, ...frame }: EndProps): VNode {
  const words = window ? endTextsOf(window) : texts.end;
  return (
    <ActDialog
      {...frame}
      method={['MaintenanceService', 'endMaintenanceWindow']}
      title={window ? words.title(coveredText(window)) : ''}
      action={words.action}
      needs="EDITOR"
      request={() => ({ name: window?.name ?? '' })}
      done={words.saved}
      onSaved={onSaved}
    >
      <p>{words.effect}</p>
    </ActDialog>
  );
}
