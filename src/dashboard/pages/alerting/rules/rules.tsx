/** The alert rules of a project: what each watches, and whether its newest version is applied. */

import type { ComponentChildren, VNode } from 'preact';
import { StateBadge } from '../../../components/badges.tsx';
import { ListTable } from '../../../components/list-table.tsx';
import type { Column } from '../../../components/table.tsx';
import { type Rule, unitOf, useDestinationTitles, useMetrics } from '../../../data/catalogue.ts';
import { pagesOf, useListing } from '../../../data/listing.ts';
import { idOf } from '../../../data/names.ts';
import { format } from '../../../data/preferences.ts';
import { mayDo } from '../../../data/projects.ts';
import { pageTitles } from '../../../layout/texts.ts';
import { texts as common } from '../../../messages/en.ts';
import { formatCount } from '../../../messages/format.ts';
import { pathOf } from '../../../router/match.ts';
import type { PageProps } from '../../page.ts';
import { RuleTemplates } from './rule-templates.tsx';
import { texts } from './rule-texts.ts';
import { conditionWords, stateOf, titlesOf } from './rule-words.ts';
import { useUntilApplied } from './use-until-applied.ts';

const ROWS = 200;
const POLL_SECONDS = 30;

export function Page({ parameters }: PageProps): VNode {
  const { project = '' } = parameters;
  const projectName = `projects/${project}`;
  const list = useListing<Rule>(
    `alertRules ${projectName}`,
    pagesOf('AlertService', 'listAlertRules', 'rules', { projectName, pageSize: ROWS }),
    { rows: ROWS, pollSeconds: POLL_SECONDS },
  );
  useUntilApplied(list, ({ items }) => items.some(({ syncStatus }) => syncStatus === 'PENDING'));
  const metrics = useMetrics(projectName);
  const destinations = useDestinationTitles(projectName);
  return (
    <>
      <div class="section-head">
        <h1>{pageTitles.alertRules}</h1>
        <NewRule project={project} />
      </div>
      <p class="weak">{texts.about}</p>
      <ListTable
        of={list}
        label={texts.label}
        columns={columnsOf({
          project,
          unitFor: (metricId) => unitOf(metrics, metricId),
          destinations,
          hasDestinations: mayDo('EDITOR'),
        })}
        keyOf={({ name }) => name}
        href={({ name }) => `/${name}`}
        empty={
          <>
            <p>{texts.none}</p>
            <p class="weak">{texts.noneHelp}</p>
            <RuleTemplates project={project} metrics={metrics} />
          </>
        }
      />
    </>
  );
}

function NewRule({ project }: { readonly project: string }): VNode {
  if (!mayDo('EDITOR')) {
    return (
      <small class="effect">
        {texts.create}: {common.needsRole('EDITOR')}
      </small>
    );
  }
  return (
    <a class="button" href={pathOf('newAlertRule', { project })}>
      {texts.create}
    </a>
  );
}

interface ColumnWords {
  readonly project: string;
  readonly unitFor: (metricId: string) => string;
  readonly destinations: ReadonlyMap<string, string>;
  /** A VIEWER may not read the names of destinations. */
  readonly hasDestinations: boolean;
}

function columnsOf(words: ColumnWords): readonly Column<Rule>[] {
  const { project, unitFor, destinations, hasDestinations } = words;
  const columns: Column<Rule>[] = [
    { key: 'rule', title: texts.rule, width: 'grow', cell: titleOf },
    {
      key: 'severity',
      title: texts.severity,
      phone: 'second',
      cell: ({ spec }) => spec && <StateBadge value={spec.severity} />,
    },
    {
      key: 'condition',
      title: texts.condition,
      width: 'grow',
      phone: 'second',
      cell: ({ spec }) => spec && conditionWords(spec, unitFor(spec.metricId), format.value),
    },
    { key: 'vms', title: texts.vms, phone: 'second', cell: vmsText },
    { key: 'state', title: texts.state, cell: (rule) => <State rule={rule} /> },
    {
      key: 'destinations',
      title: texts.destinations,
      width: 'grow',
      phone: 'hide',
      cell: ({ spec }) =>
        (spec && titlesOf(spec.destinationNames, destinations)) || (
          <span class="weak">{texts.noDestinations}</span>
        ),
    },
    {
      key: 'incidents',
      title: texts.incidents,
      phone: 'second',
      cell: (rule) => (
        <a href={`${pathOf('incidents', { project })}?rule=${encodeURIComponent(idOf(rule.name))}`}>
          {texts.openIncidents}
          <span class="visually-hidden"> {titleOf(rule)}</span>
        </a>
      ),
    },
  ];
  return columns.filter(({ key }) => hasDestinations || key !== 'destinations');
}

function titleOf({ name, spec }: Rule): string {
  return spec?.displayName || idOf(name);
}

function vmsText({ spec }: Rule): ComponentChildren {
  if (spec === undefined) return undefined;
  if (spec.allVms) return texts.allVms;
  const count = spec.vmNames.length;
  return texts.someVms(count, formatCount(count, format.value));
}

/** Whether it is evaluated: the badge, and both versions if they differ. */
function State({ rule }: { readonly rule: Rule }): VNode {
  const { syncStatus, version, appliedVersion } = rule;
  const isBehind = syncStatus !== 'APPLIED';
  return (
    <span class="badges">
      <StateBadge value={stateOf(rule)} />
      {isBehind && <small class="weak">{texts.versions(version, appliedVersion)}</small>}
    </span>
  );
}
