/** One incident: facts and actions, then why it fires and the notifications. */

import type { VNode } from 'preact';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { DataView } from '../../../components/data-view.tsx';
import { read } from '../../../data/call.ts';
import { useVms, vmNamesOf } from '../../../data/catalogue.ts';
import { serverClock } from '../../../data/clock.ts';
import { type Loader, useLoaded } from '../../../data/loaded.ts';
import { unixOf } from '../../../data/names.ts';
import type { Incident as IncidentOfList } from '../../../data/watch.ts';
import { watchIncidents } from '../../../data/watch-incidents.ts';
import { pageTitles } from '../../../layout/texts.ts';
import { AboveTitle } from '../../above-title.tsx';
import type { PageProps } from '../../page.ts';
import { useTitle } from '../../title.ts';
import { IncidentMaintenance } from '../maintenance/maintenance-mark.tsx';
import { IncidentActions } from './incident-actions.tsx';
import { IncidentDeliveries } from './incident-deliveries.tsx';
import { IncidentFacts } from './incident-facts.tsx';
import { IncidentHistory } from './incident-history.tsx';
import {
  type Explanation,
  type Recomputed,
  recordedSteps,
  stretchOf,
  type Transition,
} from './incident-path.ts';
import { IncidentStory } from './incident-story.tsx';
import { IncidentTimeline } from './incident-timeline.tsx';
import { isOpen, placeOf, titleOf } from './incident-words.ts';

/** The watch delivers changes; polling covers what it may miss. */
const POLL_SECONDS = 60;

export function Page({ parameters }: PageProps): VNode {
  const { project = '' } = parameters;
  const projectName = `projects/${project}`;
  const name = `${projectName}/incidents/${parameters.incident}`;
  const loader = useLoaded(
    `incident ${name}`,
    (options) => read('AlertService', 'explainIncident', { name }, options),
    POLL_SECONDS,
  );
  const vms = useVms(projectName);
  const { value } = loader.state.value;
  useTitle(value?.incident && titleOf(value.incident));
  const current = useRef(loader);
  current.current = loader;
  useEffect(() => {
    const watch = watchIncidents(projectName, {
      changed(incidents) {
        if (incidents.some((incident) => incident.name === name)) current.current.reload();
      },
      listAnew: () => current.current.reload(),
      // The banner says when the service is unreachable.
      status: () => undefined,
    });
    return () => watch.stop();
  }, [projectName, name]);
  const vmNames = vmNamesOf(vms);
  return (
    <>
      <AboveTitle list="incidents" project={project} />
      {value === undefined && <h1>{pageTitles.incident}</h1>}
      <DataView of={loader} lines={6}>
        {(explanation) =>
          explanation.incident && (
            <Incident
              projectName={projectName}
              explanation={explanation}
              incident={explanation.incident}
              vmNames={vmNames}
              onSaved={(incident) => {
                loader.set({ ...explanation, incident });
                loader.reload();
              }}
            />
          )
        }
      </DataView>
    </>
  );
}

interface IncidentProps {
  readonly projectName: string;
  readonly explanation: Explanation;
  readonly incident: IncidentOfList;
  readonly vmNames: ReadonlyMap<string, string>;
  readonly onSaved: (incident: IncidentOfList) => void;
}

function Incident(props: IncidentProps): VNode {
  const { projectName, explanation, incident, vmNames, onSaved } = props;
  const { ruleName, vmName } = incident;
  const transitions = useTransitions(projectName, incident);
  const stored = useStored(incident);
  const recorded = transitions.state.value.value ?? [];
  const named = recorded.filter(({ byDisplayName }) => byDisplayName !== '');
  const people = new Map(named.map(({ by, byDisplayName }) => [by, byDisplayName]));
  const unit = explanation.condition?.unit ?? '';
  const place = placeOf(incident);
  return (
    <div class="incident">
      <IncidentFacts incident={incident} unit={unit} vmNames={vmNames} people={people} />
      {isOpen(incident) && (
        <IncidentMaintenance projectName={projectName} ruleName={ruleName} vmName={vmName} />
      )}
      <IncidentActions
        incident={incident}
        onSaved={(saved) => {
          // The response to a change has neither timeline nor silent VMs.
          const { timeline, heldVms } = incident;
          onSaved({ ...saved, timeline, heldVms });
        }}
      />
      <IncidentStory
        explanation={explanation}
        steps={recordedSteps(recorded)}
        path={transitions}
        stored={stored.isStored ? stored.loader : undefined}
        label={place}
      />
      {vmName !== '' && <IncidentHistory incident={incident} condition={explanation.condition} />}
      <IncidentDeliveries projectName={projectName} incidentName={incident.name} />
      <IncidentTimeline incident={incident} people={people} />
    </div>
  );
}

/** A long incident may have more steps; the audit page lists all of them. */
const STEPS_MAX = 1_000;

/**
 * The instance's transitions from the firing on, oldest first; reloaded when the incident changes.
 */
function useTransitions(
  projectName: string,
  incident: IncidentOfList,
): Loader<readonly Transition[]> {
  const { alertInstanceName, firedUnix, timeline } = incident;
  const key = `steps ${incident.name} ${incident.state} ${timeline.length}`;
  return useLoaded(key, async (options) => {
    const request = {
      projectName,
      instanceName: alertInstanceName,
      oldestFirst: true,
      // The time of the firing, rounded down to whole seconds.
      startTimeUnixMs: `${firedUnix}000`,
      pageSize: STEPS_MAX,
    };
    return (await read('AuditService', 'listTransitions', request, options)).transitions;
  });
}

/** The recomputation from stored samples; loaded once, and again when the incident has ended. */
function useStored(incident: IncidentOfList): {
  readonly isStored: boolean;
  readonly loader: Loader<Recomputed | undefined>;
} {
  const { alertInstanceName, name, vmName, state } = incident;
  const key = `stored ${name} ${state}`;
  const stretch = useMemo(() => stretchOf(incident, serverClock.now()), [key]);
  const isStored = stretch !== undefined && vmName !== '';
  const loader = useLoaded<Recomputed | undefined>(key, async (options) => {
    if (!stretch || !isStored) return undefined;
    const { startMs, endMs } = stretch;
    const request = {
      name: alertInstanceName,
      startTimeUnix: unixOf(startMs),
      endTimeUnix: unixOf(endMs),
    };
    return await read('AlertService', 'explainAlertInstance', request, options);
  });
  return { isStored, loader };
}
