/** Firing incidents of a VM, and the state of each alert rule for it. */

import type { ComponentChildren, VNode } from 'preact';
import { StateBadge } from '../../components/badges.tsx';
import { ageColumn, stateColumn } from '../../components/columns.tsx';
import { DataView } from '../../components/data-view.tsx';
import { type Column, Table } from '../../components/table.tsx';
import { msOf, Time } from '../../components/time.tsx';
import { read } from '../../data/call.ts';
import { useLoaded } from '../../data/loaded.ts';
import { idOf } from '../../data/names.ts';
import type { ResponseOf } from '../../data/rpc-types.ts';
import { pathIfAny, pathOf } from '../../router/match.ts';
import { texts as all } from './texts.ts';

const texts = all.vm;
type Incident = ResponseOf<'AlertService', 'listIncidents'>['incidents'][number];
type Instance = ResponseOf<'AlertService', 'listAlertInstances'>['instances'][number];

const POLL_SECONDS = 30;
/** More rows than a person reads here; the pages of incidents and instances list the rest. */
const ROWS_MAX = 100;

interface VmAlertsProps {
  readonly project: string;
  readonly name: string;
}

/** Firing incidents of the VM, placed above its history, which explains them. */
export function OpenIncidents({ project, name }: VmAlertsProps): VNode {
  const loader = useLoaded(
    `incidents ${name}`,
    (options) => {
      const open = { projectName: `projects/${project}`, vmName: name, state: 'FIRING' } as const;
      return read('AlertService', 'listIncidents', { ...open, pageSize: ROWS_MAX }, options);
    },
    POLL_SECONDS,
  );
  return (
    <section aria-labelledby="incidents">
      <h2 id="incidents">{texts.incidents}</h2>
      <DataView of={loader} lines={1}>
        {({ incidents }) =>
          incidents.length === 0 ? (
            <p class="weak">{texts.noIncidents}</p>
          ) : (
            <Table
              label={texts.incidents}
              columns={incidentColumns}
              rows={incidents}
              keyOf={(incident) => incident.name}
              href={(incident) => pathOf('incident', { project, incident: idOf(incident.name) })}
            />
          )
        }
      </DataView>
    </section>
  );
}

const incidentColumns: readonly Column<Incident>[] = [
  {
    key: 'rule',
    title: texts.rule,
    width: 'grow',
    cell: ({ ruleDisplayName, labels }) => `${ruleDisplayName}${labelText(labels)}`,
  },
  stateColumn('severity', texts.severity, ({ severity }) => severity),
  ageColumn('since', texts.since, ({ startedUnix }) => startedUnix, { phone: 'second' }),
  {
    key: 'attention',
    title: texts.attention,
    phone: 'second',
    cell: ({ acknowledged, snoozedUntilUnix }) => {
      if (snoozedUntilUnix !== undefined) return texts.snoozed;
      return acknowledged === undefined ? texts.unattended : texts.acknowledged;
    },
  },
];

interface InstanceRow extends Instance {
  readonly ruleDisplayName: string;
}

/** The state of each alert rule for the VM. */
export function Instances({ project, name }: VmAlertsProps): VNode {
  const projectName = `projects/${project}`;
  const loader = useLoaded(
    `instances ${name}`,
    async (options): Promise<InstanceRow[]> => {
      const own = { projectName, vmName: name, pageSize: ROWS_MAX };
      const [{ instances }, { rules }] = await Promise.all([
        read('AlertService', 'listAlertInstances', own, options),
        read('AlertService', 'listAlertRules', { projectName, pageSize: 1_000 }, options),
      ]);
      const names = new Map(rules.map((rule) => [rule.name, rule.spec?.displayName]));
      return instances.map((instance) => {
        const { ruleName } = instance;
        return { ...instance, ruleDisplayName: names.get(ruleName) || idOf(ruleName) };
      });
    },
    POLL_SECONDS,
  );
  return (
    <section aria-labelledby="instances">
      <h2 id="instances">{texts.instances}</h2>
      <DataView of={loader} lines={1}>
        {(rows) =>
          rows.length === 0 ? (
            <p class="weak">{texts.noInstances}</p>
          ) : (
            <Table
              label={texts.instances}
              columns={instanceColumns}
              rows={rows}
              keyOf={({ ruleName, labels }) => `${ruleName} ${labelText(labels)}`}
            />
          )
        }
      </DataView>
    </section>
  );
}

const instanceColumns: readonly Column<InstanceRow>[] = [
  {
    key: 'rule',
    title: texts.rule,
    width: 'grow',
    cell: (row) => <RuleLink row={row} />,
  },
  { key: 'state', title: all.state, cell: ({ state }) => <StateBadge value={state} /> },
  {
    key: 'since',
    title: texts.since,
    phone: 'second',
    cell: ({ sinceUnix }) => {
      const ms = msOf(sinceUnix);
      return ms !== undefined && <Time ms={ms} />;
    },
  },
  stateColumn('data', all.telemetry, ({ dataState }) => dataState, { phone: 'second' }),
];

/** The rule, as a link if this version has its page. */
function RuleLink({ row }: { readonly row: InstanceRow }): ComponentChildren {
  const { ruleName, ruleDisplayName, labels } = row;
  const [, project = '', , rule = ''] = ruleName.split('/');
  const path = pathIfAny('alertRule', { project, rule });
  const text = `${ruleDisplayName}${labelText(labels)}`;
  return path === undefined ? text : <a href={path}>{text}</a>;
}

/** ` · ext4 · /var` for a mount; empty if the rule watches the whole VM. */
function labelText(labels: Readonly<Record<string, string>>): string {
  return Object.values(labels)
    .map((value) => ` · ${value}`)
    .join('');
}
