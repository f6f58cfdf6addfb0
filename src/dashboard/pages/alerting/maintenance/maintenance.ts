/** Maintenance windows as loaded, and their scope. */
import { msOf } from '../../../components/time.tsx';
import { read } from '../../../data/call.ts';
import { nowMs } from '../../../data/clock.ts';
import { useLoaded } from '../../../data/loaded.ts';
import { idOf } from '../../../data/names.ts';
import type { ResponseOf } from '../../../data/rpc-types.ts';
import { texts } from './maintenance-texts.ts';

export type MaintenanceWindow = ResponseOf<
  'MaintenanceService',
  'listMaintenanceWindows'
>['windows'][number];

/** Scope of a window; '' for all. */
export type Scope = Pick<MaintenanceWindow, 'ruleName' | 'vmName'>;
/** The scope with display names; '' if unknown. */
export type NamedScope = Scope & Pick<MaintenanceWindow, 'ruleDisplayName' | 'vmDisplayName'>;

/** `Rule CPU is high, VM shop-1`, or `Everything`. */
export function coveredText(scope: NamedScope): string {
  const { ruleName, ruleDisplayName, vmName, vmDisplayName } = scope;
  const parts = [
    ...(ruleName === '' ? [] : [texts.rule(ruleDisplayName || idOf(ruleName))]),
    ...(vmName === '' ? [] : [texts.vm(vmDisplayName || idOf(vmName))]),
  ];
  return parts.length === 0 ? texts.everything : parts.join(', ');
}

/** Maximum number of current windows, as enforced by the service. */
const WINDOWS_MAX = 50;
const POLL_SECONDS = 30;

/** Windows that suppress notifications now. Empty until loaded. */
export function useActiveWindows(projectName: string): readonly MaintenanceWindow[] {
  const { state } = useLoaded(
    `active maintenance ${projectName}`,
    async (options) => {
      const request = { projectName, pageSize: WINDOWS_MAX };
      return (await read('MaintenanceService', 'listMaintenanceWindows', request, options)).windows;
    },
    POLL_SECONDS,
  );
  const now = nowMs.value;
  return (state.value.value ?? []).filter(
    (window) => window.state === 'ACTIVE' && (msOf(window.untilUnix) ?? now) > now,
  );
}
