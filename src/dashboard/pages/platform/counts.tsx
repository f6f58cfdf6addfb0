/** The project in numbers; each links to its list, if there is one. */
import type { VNode } from 'preact';
import { format } from '../../data/preferences.ts';
import type { ResponseOf } from '../../data/rpc-types.ts';
import { formatCount } from '../../messages/format.ts';
import { pathIfAny } from '../../router/match.ts';
import { texts } from './texts.ts';

export type Overview = ResponseOf<'AlertService', 'getProjectOverview'>;
type PartName = keyof typeof texts.names;

interface Tile {
  readonly page: string;
  readonly title: string;
  /** Nonzero counts below the title, by name. */
  readonly parts: Readonly<Partial<Record<PartName, string>>>;
  readonly tone?: 'bad' | 'watch' | undefined;
}

export function Counts(props: { readonly overview: Overview; readonly project: string }): VNode {
  const { overview, project } = props;
  return (
    <ul class="counts" aria-label={texts.counts}>
      {tilesOf(overview).map(({ page, title, parts, tone }) => {
        const path = pathIfAny(page, { project });
        return (
          <li key={page} class={tone}>
            {path === undefined ? <strong>{title}</strong> : <a href={path}>{title}</a>}
            <span class="weak">{partsText(parts)}</span>
          </li>
        );
      })}
    </ul>
  );
}

function tilesOf({ incidents, vms, telemetry, rules, deliveries }: Overview): Tile[] {
  const tiles: Tile[] = [];
  if (incidents) {
    const { firing, attention, critical, warning, info, acknowledged, snoozed } = incidents;
    const parts = { critical, warning, info, acknowledged, snoozed };
    const title = Number(firing) === 0 ? texts.nothingFires : texts.firing(...counted(firing));
    const tone = Number(attention) > 0 ? 'bad' : undefined;
    tiles.push({ page: 'incidents', title, parts, tone });
  }
  if (vms && telemetry) {
    const { live, stale, never, error } = telemetry;
    const parts = { live, stale, never, error, expanded: vms.expanded };
    const tone = Number(stale) + Number(error) > 0 ? 'watch' : undefined;
    tiles.push({ page: 'vms', title: texts.vms(...counted(vms.total)), parts, tone });
  }
  if (rules) {
    const { applied, pending, failed, paused } = rules;
    const total = sum([applied, pending, failed, paused]);
    const parts = { applied, pending, failed, paused };
    const tone = Number(failed) > 0 ? 'bad' : undefined;
    tiles.push({ page: 'alertRules', title: texts.rules(...counted(total)), parts, tone });
  }
  if (deliveries) {
    const { underWay, sent, suppressed, expired, failed } = deliveries;
    const total = sum([underWay, sent, suppressed, expired, failed]);
    const parts = { underWay, sent, suppressed, expired, failed };
    const tone = Number(failed) + Number(expired) > 0 ? 'bad' : undefined;
    tiles.push({ page: 'deliveries', title: texts.deliveries(...counted(total)), parts, tone });
  }
  return tiles;
}

/** A count as number and text, as required by the texts. */
function counted(count: string | number): [number, string] {
  return [Number(count), formatCount(Number(count), format.value)];
}

function sum(counts: readonly string[]): number {
  return counts.reduce((total, count) => total + Number(count), 0);
}

function partsText(parts: Tile['parts']): string {
  return Object.entries(parts)
    .filter(([, count]) => Number(count) > 0)
    .map(([name, count]) => {
      const [, text] = counted(count);
      return texts.part(text, texts.names[name as PartName]);
    })
    .join(', ');
}
