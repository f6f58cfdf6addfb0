/**
 * A changed repeat interval reaches what fires already: whoever shortens it wants to be reminded
 * sooner, whoever sets it to never wants the reminders to end. The next one comes a whole new
 * interval after the change.
 */
import type { AlertInstanceContext } from '../../machines/alerting/alert-instance-setup.ts';
import type { Host, Instance, ProjectView } from '../platform/host/host-port.ts';
import { liveInstances } from '../platform/host/live-instances.ts';
import { submitInParts } from './in-parts.ts';

/** Instances told by one commit. */
const BATCH = 100;

/** Tells the rule's firing instances of its interval; a second call finds none to tell. */
export async function adoptRepeatInterval(
  host: Host,
  project: string,
  rule: string,
): Promise<void> {
  const view = host.view(project);
  const ids: string[] = [];
  for await (const instance of liveInstances(view, 'alertInstance')) {
    if (contextOf(instance).rule === rule && isOutdated(view, instance))
      ids.push(instance.instance);
  }
  for (let start = 0; start < ids.length; start += BATCH) {
    await submitInParts(ids.slice(start, start + BATCH), (part) => tell(host, project, part));
  }
}

function tell(host: Host, project: string, part: readonly string[]): Promise<unknown> {
  return host.submit({
    project,
    by: { kind: 'service', name: 'rules' },
    decide(draft) {
      for (const id of part) {
        const row = draft.instance('alertInstance', id);
        if (!row || !isOutdated(draft, row)) continue;
        const repeatIntervalMs = intervalMs(draft, contextOf(row).rule);
        const event = { type: 'repeatIntervalChanged', at: draft.at, repeatIntervalMs } as const;
        draft.send('alertInstance', id, event);
      }
    },
  });
}

/** Fires, with another interval than its rule's. */
function isOutdated(view: ProjectView, row: Instance<'alertInstance'>): boolean {
  const { incident, repeatIntervalMs, rule } = contextOf(row);
  const isOpen = incident !== null && incident.recoveredMs === null && incident.retiredMs === null;
  return isOpen && repeatIntervalMs !== intervalMs(view, rule);
}

function intervalMs(view: ProjectView, rule: string): number {
  const row = view.instance('alertRule', rule);
  if (!row) throw new Error(`The rule ${rule} of an alert instance is not there`);
  return row.context.spec.repeatIntervalSeconds * 1000;
}

function contextOf({ context }: Instance<'alertInstance'>): AlertInstanceContext {
  return context;
}
