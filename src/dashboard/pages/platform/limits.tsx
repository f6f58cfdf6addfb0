/** The limits of a project, each with its usage and with what happens beyond it. Read-only. */
import type { VNode } from 'preact';
import { Badge } from '../../components/badges.tsx';
import { DataView } from '../../components/data-view.tsx';
import { type Column, Table } from '../../components/table.tsx';
import { read } from '../../data/call.ts';
import { useLoaded } from '../../data/loaded.ts';
import { format } from '../../data/preferences.ts';
import type { ResponseOf } from '../../data/rpc-types.ts';
import { pageTitles } from '../../layout/texts.ts';
import { formatCount, formatReading } from '../../messages/format.ts';
import type { PageProps } from '../page.ts';
import { texts as all } from './project-texts.ts';

type Limit = ResponseOf<'MonitoringService', 'getProjectLimits'>['limits'][number];

const texts = all.limits;
const POLL_SECONDS = 30;

export function Page({ parameters }: PageProps): VNode {
  const projectName = `projects/${parameters.project}`;
  const limits = useLoaded(
    `limits ${projectName}`,
    async (options) =>
      (await read('MonitoringService', 'getProjectLimits', { projectName }, options)).limits,
    POLL_SECONDS,
  );
  return (
    <>
      <h1>{pageTitles.limits}</h1>
      <p class="weak">{texts.about}</p>
      <DataView of={limits} lines={8} isEmpty={(all) => all.length === 0} empty={texts.none}>
        {(all) => (
          <Table label={texts.label} columns={columns} rows={all} keyOf={({ name }) => name} />
        )}
      </DataView>
    </>
  );
}

const titles: Readonly<Record<string, string>> = texts.titles;
const consequences: Readonly<Record<string, string>> = texts.consequences;

const columns: readonly Column<Limit>[] = [
  {
    key: 'what',
    title: texts.what,
    width: 'grow',
    cell: ({ name, description }) => (
      <>
        <strong>{titles[name] ?? name}</strong>
        {description !== titles[name] && <small class="effect under">{description}</small>}
      </>
    ),
  },
  { key: 'used', title: texts.used, align: 'right', cell: (limit) => <Used of={limit} /> },
  {
    key: 'share',
    title: texts.share,
    phone: 'second',
    cell: (limit) => <Share of={limit} />,
  },
  {
    key: 'beyond',
    title: texts.beyond,
    width: 'grow',
    phone: 'second',
    cell: ({ name }) => consequences[name] ?? '',
  },
];

function Used({ of: { used, limit, unit } }: { readonly of: Limit }): VNode {
  const most = amount(Number(limit), unit);
  if (used !== undefined) return <>{texts.of(amount(Number(used), unit), most)}</>;
  return (
    <>
      <span class="weak">{texts.notMeasured}</span>, {texts.limit} {most}
    </>
  );
}

function amount(value: number, unit: string): string {
  if (unit === 'bytes') return formatReading(value, unit, format.value);
  if (unit === 'bytes/s') return formatReading(value, 'bytes_per_second', format.value);
  const count = formatCount(value, format.value);
  return unit.endsWith('/s') ? `${count}/s` : count;
}

/** Usage above this share shows a warning. */
const NEARLY = 0.8;

/** Renders nothing for values that were not measured. */
function Share({ of: { name, used, limit } }: { readonly of: Limit }): VNode | null {
  if (used === undefined) return null;
  const [value, max] = [Number(used), Number(limit)];
  if (value >= max) return <Badge tone="warning" text={texts.reached} />;
  const label = titles[name] ?? name;
  return (
    <meter min={0} max={max} high={NEARLY * max} optimum={0} value={value} aria-label={label} />
  );
}
