/**
 * One alert rule: whether it is applied, its form, and its actions. Unsaved input stays, whatever
 * others save in the meantime.
 */

import { useSignal } from '@preact/signals';
import type { VNode } from 'preact';
import { StateBadge } from '../../../components/badges.tsx';
import { DataView } from '../../../components/data-view.tsx';
import { NoticeBox } from '../../../components/notice-box.tsx';
import { Age, msOf } from '../../../components/time.tsx';
import { read } from '../../../data/call.ts';
import { type Rule, unitOf } from '../../../data/catalogue.ts';
import { type Draft, useDraft } from '../../../data/draft.ts';
import { type Loader, useLoaded } from '../../../data/loaded.ts';
import { idOf } from '../../../data/names.ts';
import { format } from '../../../data/preferences.ts';
import { mayDo } from '../../../data/projects.ts';
import { pageTitles } from '../../../layout/texts.ts';
import { formatCount } from '../../../messages/format.ts';
import { pathOf } from '../../../router/match.ts';
import { AboveTitle } from '../../above-title.tsx';
import type { PageProps } from '../../page.ts';
import { useTitle } from '../../title.ts';
import { RuleMaintenance } from '../maintenance/maintenance-mark.tsx';
import { RuleActions, type SavedRule } from './rule-actions.tsx';
import { type EditDraft, RuleEdit } from './rule-edit.tsx';
import { fieldsOf, type RuleSpec } from './rule-fields.ts';
import type { RuleChoices } from './rule-form.tsx';
import { RuleSettings } from './rule-settings.tsx';
import { texts } from './rule-texts.ts';
import { RuleViews } from './rule-views.tsx';
import { conditionWords, stateOf } from './rule-words.ts';
import { useRuleChoices } from './use-rule-form.ts';
import { useUntilApplied } from './use-until-applied.ts';

const POLL_SECONDS = 30;

export function Page({ parameters }: PageProps): VNode {
  const { project = '' } = parameters;
  const name = `projects/${project}/alertRules/${parameters.rule}`;
  const loader = useLoaded(
    `alertRule ${name}`,
    (options) => read('AlertService', 'getAlertRule', { name }, options),
    POLL_SECONDS,
  );
  useUntilApplied(loader, ({ syncStatus }) => syncStatus === 'PENDING');
  const { value } = loader.state.value;
  useTitle(value?.spec?.displayName);
  return (
    <>
      <AboveTitle list="alertRules" project={project} />
      {value?.spec === undefined && <h1>{pageTitles.alertRule}</h1>}
      <DataView of={loader} lines={8}>
        {(rule) =>
          rule.spec && <RulePage project={project} rule={rule} spec={rule.spec} loader={loader} />
        }
      </DataView>
    </>
  );
}

interface RulePageProps {
  readonly project: string;
  readonly rule: Rule;
  readonly spec: RuleSpec;
  readonly loader: Loader<Rule>;
}

function RulePage({ project, rule, spec, loader }: RulePageProps): VNode {
  const choices = useRuleChoices(`projects/${project}`);
  const draft = useDraft<EditDraft>(`rule ${rule.name}`, { fields: undefined, version: '' });
  const unit = unitOf(choices.metrics, spec.metricId);
  const onSaved = (saved: SavedRule, savedSpec: RuleSpec): void => {
    loader.set({ ...rule, ...saved, spec: savedSpec });
    loader.reload();
  };
  return (
    <>
      <p class="incident-badges">
        <StateBadge value={spec.severity} />
        <StateBadge value={stateOf(rule)} />
      </p>
      <h1 class="long-name">{spec.displayName || idOf(rule.name)}</h1>
      <p>{conditionWords(spec, unit, format.value)}</p>
      <Sync rule={rule} />
      <RuleMaintenance
        projectName={`projects/${project}`}
        ruleName={rule.name}
        vmNames={spec.allVms ? undefined : spec.vmNames}
        names={choices.vms}
      />
      <Links project={project} rule={rule} />
      <RuleActions
        project={project}
        rule={rule}
        spec={spec}
        onStale={loader.reload}
        onDeleted={draft.discard}
        onSaved={(saved, savedSpec) => {
          followVersion(draft, rule.version, saved.version);
          onSaved(saved, savedSpec);
        }}
      />
      {mayDo('EDITOR') ? (
        <RuleEdit
          rule={rule}
          spec={spec}
          choices={choices}
          draft={draft}
          onSaved={onSaved}
          onStale={loader.reload}
        />
      ) : (
        <RuleRead spec={spec} choices={choices} unit={unit} />
      )}
    </>
  );
}

interface RuleReadProps {
  readonly spec: RuleSpec;
  readonly choices: RuleChoices;
  readonly unit: string;
}

/** Read-only view. A threshold can be tried on the chart but not saved. */
function RuleRead({ spec, choices, unit }: RuleReadProps): VNode {
  const tried = useSignal<number | undefined>(undefined);
  const displayed = tried.value === undefined ? spec : { ...spec, threshold: tried.value };
  return (
    <>
      <RuleSettings spec={spec} choices={choices} />
      <RuleViews
        projectName={choices.projectName}
        fields={fieldsOf(displayed, unit)}
        unit={unit}
        spec={displayed}
        onThreshold={(threshold) => {
          tried.value = threshold;
        }}
      />
    </>
  );
}

/** Pausing or resuming also creates a version; the draft is then based on it. */
function followVersion(draft: Draft<EditDraft>, before: string, now: string): void {
  const { fields, version } = draft.value.peek();
  if (fields !== undefined && version === before) draft.value.value = { fields, version: now };
}

/** Whether its newest version is in effect. */
function Sync({ rule }: { readonly rule: Rule }): VNode {
  const { syncStatus, version, appliedVersion, syncError, unevaluatedInstances } = rule;
  const { sync } = texts;
  const count = Number(unevaluatedInstances);
  const isPaused = rule.spec?.enabled === false;
  return (
    <div role="status">
      {syncStatus === 'PENDING' && (
        <NoticeBox tone="info" title={sync.pending(version, appliedVersion)} />
      )}
      {syncStatus === 'FAILED' && (
        <NoticeBox tone="error" title={sync.failed(version, syncError)} />
      )}
      {syncStatus === 'APPLIED' && (
        <p class="weak">
          {sync.applied(version)} {isPaused && sync.paused}
        </p>
      )}
      {count > 0 && (
        <NoticeBox tone="warning" title={sync.unevaluated(formatCount(count, format.value))} />
      )}
    </div>
  );
}

function Links({ project, rule }: { readonly project: string; readonly rule: Rule }): VNode {
  const filter = `?rule=${encodeURIComponent(idOf(rule.name))}`;
  return (
    <p class="links">
      <a href={pathOf('incidents', { project }) + filter}>{texts.openIncidents}</a>
      <a href={pathOf('alertInstances', { project }) + filter}>{texts.instances}</a>
      <span class="weak">
        {texts.sync.changed} <Age ms={msOf(rule.updatedUnix)} />
      </span>
    </p>
  );
}
