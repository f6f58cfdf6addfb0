/** `svc overview`: a project in counts. Read-only. */
import {
  AlertService,
  type ProjectOverview,
  ProjectOverview_Datacenter_State,
} from '../../gen/svc/monitoring/v1/alert_pb.ts';
import { projectOption, single } from '../client/action.ts';
import { ofProject, reads } from '../client/frames.ts';
import { facts, table } from '../client/output.ts';
import { enumText, localTime } from '../client/texts.ts';

export const overviewCommand = single({
  name: 'overview',
  summary: 'Show a project in counts: VMs, telemetry, incidents, rules, deliveries, data centers',
  options: [projectOption],
  notes: 'Finished deliveries are those of the last 24 hours. For limits, see svc limits.',
  run: reads({
    caller: 'any',
    method: AlertService.method.getProjectOverview,
    request: ofProject,
    text: overviewText,
  }),
});

function overviewText(overview: ProjectOverview): string {
  const { vms, telemetry, incidents, rules, deliveries, datacenters } = overview;
  const counts = facts([
    ['counted', localTime(overview.countedUnix)],
    ['VMs', countsText(vms, ['total', 'expanded'])],
    ['telemetry', countsText(telemetry, ['live', 'stale', 'never', 'error'])],
    ['incidents', countsText(incidents, ['firing', 'attention', 'acknowledged', 'snoozed'])],
    ['firing', countsText(incidents, ['critical', 'warning', 'info'])],
    ['rules', countsText(rules, ['applied', 'pending', 'failed', 'paused'])],
    ['deliveries', countsText(deliveries, ['underWay', 'sent', 'suppressed', 'expired', 'failed'])],
  ]);
  const rows = datacenters.map(({ name, state, sinceUnix, vms: count }) => [
    name,
    enumText(ProjectOverview_Datacenter_State, state),
    sinceUnix === undefined ? '-' : localTime(sinceUnix),
    String(count),
  ]);
  const columns = ['data center', 'state', 'since', 'VMs'];
  return `${counts}\n${table(columns, rows, 'No VMs in this project')}`;
}

/** `3 firing, 1 attention`. */
function countsText<K extends string>(
  counts: Readonly<Record<K, bigint>> | undefined,
  names: readonly K[],
): string {
  if (!counts) return '';
  const word = (name: K) => (name === 'underWay' ? 'in progress' : name);
  return names.map((name) => `${counts[name]} ${word(name)}`).join(', ');
}
