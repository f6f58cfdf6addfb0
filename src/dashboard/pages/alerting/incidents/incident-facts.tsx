/**
 * Facts for the on-call engineer: severity, rule, place, start, and the value against the
 * threshold. Then attention, and reasons to distrust the data.
 */

import type { VNode } from 'preact';
import { StateBadge } from '../../../components/badges.tsx';
import { Fact } from '../../../components/fact.tsx';
import { NoticeBox } from '../../../components/notice-box.tsx';
import { ResourceLink } from '../../../components/resource-link.tsx';
import { RunbookBox } from '../../../components/runbook-box.tsx';
import { Age, ageText, msOf, Time } from '../../../components/time.tsx';
import { nowMs } from '../../../data/clock.ts';
import { idOf } from '../../../data/names.ts';
import { format } from '../../../data/preferences.ts';
import type { Incident } from '../../../data/watch.ts';
import { texts as common } from '../../../messages/en.ts';
import { formatCount, formatTime } from '../../../messages/format.ts';
import { missingReasons, retireReasons, texts } from './incident-texts.ts';
import {
  conditionText,
  isOpen,
  placeOf,
  snoozedUntilMs,
  titleOf,
  valueText,
} from './incident-words.ts';

export interface IncidentFactsProps {
  readonly incident: Incident;
  /** Unit of the metric. */
  readonly unit: string;
  /** Display names of VMs by their resource names. */
  readonly vmNames: ReadonlyMap<string, string>;
  /** Display names of people by their resource names. */
  readonly people: ReadonlyMap<string, string>;
}

export function IncidentFacts(props: IncidentFactsProps): VNode {
  const { incident, unit } = props;
  const value = valueText(incident, unit, format.value);
  const labels = Object.entries(incident.ruleLabels)
    .map(([name, text]) => `${name}=${text}`)
    .join(', ');
  return (
    <section class="incident-facts" aria-label={titleOf(incident)}>
      <p class="incident-badges">
        <StateBadge value={incident.severity} />
        <StateBadge value={incident.state} />
        {incident.acknowledged && <span class="weak">{texts.page.acknowledged}</span>}
        {snoozedUntilMs(incident, nowMs.value) !== undefined && (
          <span class="weak">{texts.page.snoozed}</span>
        )}
      </p>
      <h1>{titleOf(incident)}</h1>
      <p class="incident-value">
        <strong>{value ?? <span class="weak">{common.noReading}</span>}</strong>{' '}
        <span class="weak">{conditionText(incident, unit, format.value)}</span>
      </p>
      <RunbookBox runbook={incident} />
      <dl class="facts">
        <Fact title={texts.page.where}>
          <Where {...props} />
          {incident.vmDatacenter !== '' && <span class="weak"> {incident.vmDatacenter}</span>}
        </Fact>
        <Fact title={texts.page.since}>
          <Since incident={incident} />
        </Fact>
        <Attention {...props} />
        <Fact title={texts.page.rule}>
          <ResourceLink name={incident.ruleName}>{titleOf(incident)}</ResourceLink>{' '}
          <span class="weak">{incident.metricId}</span>
        </Fact>
        {labels !== '' && <Fact title={texts.page.labels}>{labels}</Fact>}
      </dl>
      <Cautions incident={incident} />
    </section>
  );
}

function Where({ incident, vmNames }: IncidentFactsProps): VNode {
  const place = placeOf(incident);
  if (incident.vmName !== '') {
    return <ResourceLink name={incident.vmName}>{place}</ResourceLink>;
  }
  const count = formatCount(Number(incident.heldVmCount), format.value);
  return (
    <details>
      <summary>
        {place}, {texts.page.silentVms(count)}
      </summary>
      <ul>
        {incident.heldVms.map((name) => (
          <li key={name}>
            <ResourceLink name={name}>{vmNames.get(name) || idOf(name)}</ResourceLink>
          </li>
        ))}
      </ul>
    </details>
  );
}

function Since({ incident }: { readonly incident: Incident }): VNode {
  const startedMs = msOf(incident.startedUnix);
  const endedMs = msOf(incident.recoveredUnix ?? incident.retiredUnix);
  return (
    <>
      {startedMs !== undefined && <Time ms={startedMs} />}, <Age ms={startedMs} />
      {endedMs !== undefined && (
        <span>
          {'; '}
          {texts.page.ended} <Time ms={endedMs} />
        </span>
      )}
    </>
  );
}

/** Person who acknowledged the incident, and whether notifications are sent. */
function Attention({ incident, people }: IncidentFactsProps): VNode {
  const { acknowledged } = incident;
  const untilMs = snoozedUntilMs(incident, nowMs.value);
  return (
    <>
      <Fact title={texts.page.acknowledged}>
        {acknowledged ? (
          <>
            {texts.page.by(people.get(acknowledged.by) || acknowledged.by)},{' '}
            <Age ms={msOf(acknowledged.atUnix)} />
            {acknowledged.note !== '' && <span class="note-text">{acknowledged.note}</span>}
          </>
        ) : (
          <span class="weak">{texts.page.nobody}</span>
        )}
      </Fact>
      {isOpen(incident) && (
        <Fact title={texts.page.snoozed}>
          {untilMs === undefined ? (
            <span class="weak">
              {incident.repeats === 0
                ? texts.page.notSnoozed
                : texts.page.reminders(incident.repeats)}
            </span>
          ) : (
            texts.page.snoozedUntil(
              formatTime(untilMs, nowMs.value, format.value),
              ageText(untilMs, nowMs.value),
            )
          )}
        </Fact>
      )}
    </>
  );
}

/** Reasons to distrust the facts above. */
function Cautions({ incident }: { readonly incident: Incident }): VNode {
  const missingMs = msOf(incident.dataMissingSinceUnix);
  const sentences = [
    missingMs !== undefined &&
      texts.page.missing(
        formatTime(missingMs, nowMs.peek(), format.value),
        missingReasons[incident.dataMissingReason] ?? incident.dataMissingReason,
      ),
    incident.evaluatorError !== '' && texts.page.evaluatorError(incident.evaluatorError),
    incident.correctedAfterNotification && texts.page.corrected,
    incident.state === 'RETIRED' &&
      texts.page.retired(retireReasons[incident.retireReason] ?? incident.retireReason),
  ].filter((sentence) => sentence !== false);
  return (
    <>
      {sentences.map((sentence) => (
        <NoticeBox key={sentence} tone="warning" title={sentence} />
      ))}
    </>
  );
}
