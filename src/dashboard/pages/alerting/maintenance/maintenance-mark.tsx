/** Marks an incident or a rule that a maintenance window currently covers. */
import type { VNode } from 'preact';
import { NoticeBox } from '../../../components/notice-box.tsx';
import { msOf } from '../../../components/time.tsx';
import { nowMs } from '../../../data/clock.ts';
import { idOf } from '../../../data/names.ts';
import { format } from '../../../data/preferences.ts';
import { pageTitles } from '../../../layout/texts.ts';
import { formatTime } from '../../../messages/format.ts';
import { pathOf } from '../../../router/match.ts';
import { type MaintenanceWindow, useActiveWindows } from './maintenance.ts';
import { texts } from './maintenance-texts.ts';

/** For an incident; its VM is '' if it concerns a whole data center. */
export function IncidentMaintenance(props: {
  readonly projectName: string;
  readonly ruleName: string;
  readonly vmName: string;
}): VNode | null {
  const { projectName, ruleName, vmName } = props;
  const windows = useActiveWindows(projectName).filter(
    (window) => (window.ruleName || ruleName) === ruleName && (window.vmName || vmName) === vmName,
  );
  return <Marks of={windows} titleOf={texts.mark.incident} />;
}

export interface RuleMaintenanceProps {
  readonly projectName: string;
  readonly ruleName: string;
  /** VMs that the rule selects; undefined for all VMs. */
  readonly vmNames: readonly string[] | undefined;
  /** Display names by resource name. */
  readonly names: ReadonlyMap<string, string>;
}

/** For a rule, even if a window covers only one of its VMs. */
export function RuleMaintenance(props: RuleMaintenanceProps): VNode | null {
  const { projectName, ruleName, vmNames, names } = props;
  const windows = useActiveWindows(projectName).filter(
    (window) =>
      (window.ruleName || ruleName) === ruleName &&
      (window.vmName === '' || (vmNames?.includes(window.vmName) ?? true)),
  );
  return (
    <Marks
      of={windows}
      titleOf={(until, { vmName }) =>
        vmName === ''
          ? texts.mark.rule(until)
          : texts.mark.ofVm(names.get(vmName) || idOf(vmName), until)
      }
    />
  );
}

interface MarksProps {
  readonly of: readonly MaintenanceWindow[];
  readonly titleOf: (until: string, window: MaintenanceWindow) => string;
}

function Marks({ of, titleOf }: MarksProps): VNode | null {
  if (of.length === 0) return null;
  return (
    <>
      {of.map((window) => (
        <NoticeBox
          key={window.name}
          tone="info"
          title={titleOf(
            formatTime(msOf(window.untilUnix) ?? nowMs.peek(), nowMs.peek(), format.value),
            window,
          )}
        >
          {window.note !== '' && <p class="note-text">{window.note}</p>}
          {texts.mark.after}{' '}
          <a href={pathOf('maintenanceWindows', { project: window.name.split('/')[1] ?? '' })}>
            {pageTitles.maintenanceWindows}
          </a>
        </NoticeBox>
      ))}
    </>
  );
}
