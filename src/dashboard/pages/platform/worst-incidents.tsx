/** The worst incidents: by severity, newest first; unattended ones before others. */

import type { VNode } from 'preact';
import { ageColumn, stateColumn } from '../../components/columns.tsx';
import { DataView } from '../../components/data-view.tsx';
import { type Column, Table } from '../../components/table.tsx';
import { read } from '../../data/call.ts';
import { type Load, useLoaded } from '../../data/loaded.ts';
import { idOf } from '../../data/names.ts';
import type { ResponseOf } from '../../data/rpc-types.ts';
import { pathOf } from '../../router/match.ts';
import { texts } from './texts.ts';

type Incident = ResponseOf<'AlertService', 'listIncidents'>['incidents'][number];

const POLL_SECONDS = 15;
const SHOWN_MAX = 5;

export function WorstIncidents({ project }: { readonly project: string }): VNode | null {
  const projectName = `projects/${project}`;
  const loader = useLoaded(
    `worst ${projectName}`,
    (options) => loadWorst(projectName, options),
    POLL_SECONDS,
  );
  const { value, error } = loader.state.value;
  // The counts already say that nothing is firing.
  if (value?.length === 0 && !error) return null;
  return (
    <section aria-labelledby="worst">
      <div class="section-head">
        <h2 id="worst">{texts.worst}</h2>
        <a href={pathOf('incidents', { project })}>{texts.allIncidents}</a>
      </div>
      <DataView of={loader} lines={3}>
        {(incidents) => (
          <Table
            label={texts.worst}
            columns={columns}
            rows={incidents}
            keyOf={({ name }) => name}
            href={({ name }) => pathOf('incident', { project, incident: idOf(name) })}
          />
        )}
      </DataView>
    </section>
  );
}

/** From the worst severity down, until there are enough. */
async function loadWorst(
  projectName: string,
  options: Parameters<Load<Incident[]>>[0],
): Promise<Incident[]> {
  const found: Incident[] = [];
  for (const severity of ['CRITICAL', 'WARNING', 'INFO'] as const) {
    const pageSize = SHOWN_MAX - found.length;
    const request = { projectName, state: 'FIRING' as const, severities: [severity], pageSize };
    const { incidents } = await read('AlertService', 'listIncidents', request, options);
    found.push(...incidents);
    if (found.length >= SHOWN_MAX) break;
  }
  return found;
}

const columns: readonly Column<Incident>[] = [
  {
    key: 'what',
    title: texts.what,
    width: 'grow',
    cell: ({ ruleDisplayName, vmName, vmDisplayName, datacenter }) =>
      `${ruleDisplayName}: ${vmName === '' ? datacenter : vmDisplayName || idOf(vmName)}`,
  },
  stateColumn('severity', texts.severity, ({ severity }) => severity),
  ageColumn('since', texts.since, ({ startedUnix }) => startedUnix, { phone: 'second' }),
  {
    key: 'attention',
    title: texts.attentionBy,
    phone: 'second',
    cell: ({ acknowledged, snoozedUntilUnix }) => {
      if (snoozedUntilUnix !== undefined) return texts.snoozed;
      return acknowledged === undefined ? texts.unattended : texts.acknowledged;
    },
  },
];
