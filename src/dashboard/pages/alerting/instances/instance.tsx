/**
 * One alert instance: its state, when it would fire, its path on the diagram of its machine, and
 * its readings. Decisions are drawn solid; recomputed steps are dashed.
 */

import type { VNode } from 'preact';
import { StateBadge } from '../../../components/badges.tsx';
import { DataView } from '../../../components/data-view.tsx';
import { Fact } from '../../../components/fact.tsx';
import { ResourceLink } from '../../../components/resource-link.tsx';
import { Age, msOf, Time } from '../../../components/time.tsx';
import { read } from '../../../data/call.ts';
import { unitOf, useMetrics, useRules } from '../../../data/catalogue.ts';
import { useLoaded } from '../../../data/loaded.ts';
import { idOf } from '../../../data/names.ts';
import { format } from '../../../data/preferences.ts';
import type { ResponseOf } from '../../../data/rpc-types.ts';
import { pageTitles } from '../../../layout/texts.ts';
import { texts as common } from '../../../messages/en.ts';
import { formatReading } from '../../../messages/format.ts';
import { query } from '../../../router/location.ts';
import { AboveTitle } from '../../above-title.tsx';
import type { PageProps } from '../../page.ts';
import { useTitle } from '../../title.ts';
import { InstanceEvaluation } from './instance-evaluation.tsx';
import { instanceIn, type NamedInstance } from './instance-names.ts';
import { texts } from './instance-texts.ts';

type Instance = ResponseOf<'AlertService', 'getAlertInstance'>;

/** Equal to the sampling interval of a VM. */
const POLL_SECONDS = 30;

export function Page({ parameters }: PageProps): VNode {
  const { project = '' } = parameters;
  const projectName = `projects/${project}`;
  const named = instanceIn(projectName, parameters.instance ?? '', query.value);
  return (
    <>
      <AboveTitle list="alertInstances" project={project} />
      {named ? (
        <InstancePage projectName={projectName} named={named} />
      ) : (
        <>
          <h1>{pageTitles.alertInstance}</h1>
          <p role="alert">{texts.notNamed}</p>
        </>
      )}
    </>
  );
}

function InstancePage(props: { projectName: string; named: NamedInstance }): VNode {
  const { projectName, named } = props;
  const instance = useLoaded(
    `instance ${JSON.stringify(named)}`,
    (options) => read('AlertService', 'getAlertInstance', named, options),
    POLL_SECONDS,
  );
  const rules = useRules(projectName);
  const metrics = useMetrics(projectName);
  return (
    <>
      {instance.state.value.value === undefined && <h1>{pageTitles.alertInstance}</h1>}
      <DataView of={instance} lines={8}>
        {(value) => {
          const rule = value.ruleDisplayName || idOf(value.ruleName);
          const vm = value.vmDisplayName || idOf(value.vmName);
          const place = [vm, ...Object.values(value.labels)].join(' · ');
          const unit = unitOf(metrics, rules.get(value.ruleName)?.spec?.metricId ?? '');
          return (
            <>
              <Facts instance={value} rule={rule} place={place} unit={unit} />
              <InstanceEvaluation
                projectName={projectName}
                named={named}
                decided={value.path}
                label={texts.drawing(rule, place)}
              />
            </>
          );
        }}
      </DataView>
    </>
  );
}

interface FactsProps {
  readonly instance: Instance;
  readonly rule: string;
  readonly place: string;
  readonly unit: string;
}

function Facts({ instance, rule, place, unit }: FactsProps): VNode {
  const { state, dataState, lastValue, vmName } = instance;
  useTitle(`${rule}, ${place}`);
  const [sinceMs, missingMs, firesMs] = [
    msOf(instance.sinceUnix),
    msOf(instance.missingSinceUnix),
    msOf(instance.firesAtUnix),
  ];
  return (
    <>
      <p class="incident-badges">
        <StateBadge value={state} />
        {dataState === 'MISSING' && <StateBadge value="MISSING" />}
      </p>
      <h1 class="long-name">
        {pageTitles.alertInstance}: {rule}, {place}
      </h1>
      <dl class="facts">
        <Fact title={texts.rule}>
          <ResourceLink name={instance.ruleName}>{rule}</ResourceLink>
        </Fact>
        <Fact title={texts.vm}>
          <a href={`/${vmName}`}>{place}</a>
        </Fact>
        <Fact title={texts.value}>
          {lastValue === undefined
            ? common.noReading
            : formatReading(lastValue, unit, format.value)}
          , <Age ms={msOf(instance.lastObservedUnix)} />
        </Fact>
        {sinceMs !== undefined && (
          <Fact title={texts.since}>
            <Time ms={sinceMs} />, <Age ms={sinceMs} />
          </Fact>
        )}
        {missingMs !== undefined && (
          <Fact title={texts.missingSince}>
            <Time ms={missingMs} />
          </Fact>
        )}
        {firesMs !== undefined && (
          <Fact title={texts.fires}>
            <Time ms={firesMs} />, <Age ms={firesMs} /> <span class="weak">{texts.firesHelp}</span>
          </Fact>
        )}
      </dl>
    </>
  );
}
