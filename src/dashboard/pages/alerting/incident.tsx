/** One incident: what it is and what can be done, then why it fires and who was notified. */
import type { VNode } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { DataView } from '../../components/data-view.tsx';
import { read } from '../../data/call.ts';
import { useLoaded } from '../../data/loaded.ts';
import { watchIncidents } from '../../data/watch-incidents.ts';
import type { PageProps } from '../page.ts';
import { useTitle } from '../title.ts';
import { IncidentActs } from './incident-acts.tsx';
import { IncidentDeliveries } from './incident-deliveries.tsx';
import { IncidentFacts } from './incident-facts.tsx';
import { titleOf } from './incident-words.ts';
import { useVms, vmNamesOf } from './vm-names.ts';

/** The watch brings what changes; this finds what it could not. */
const POLL_SECONDS = 60;

export function Page({ parameters }: PageProps): VNode {
  const projectName = `projects/${parameters.project}`;
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
      // The banner says when the service is away.
      status: () => undefined,
    });
    return () => watch.stop();
  }, [projectName, name]);
  return (
    <DataView of={loader} lines={6}>
      {(explanation) => {
        const { incident, condition } = explanation;
        if (incident === undefined) return null;
        return (
          <div class="incident">
            <IncidentFacts
              incident={incident}
              unit={condition?.unit ?? ''}
              vmNames={vmNamesOf(vms.state.value.value)}
              people={new Map()}
            />
            <IncidentActs
              incident={incident}
              onSaved={(saved) => {
                // The answer to a change has neither timeline nor silent VMs.
                const { timeline, heldVms } = incident;
                loader.set({ ...explanation, incident: { ...saved, timeline, heldVms } });
                loader.reload();
              }}
            />
            <IncidentDeliveries projectName={projectName} incidentName={name} />
          </div>
        );
      }}
    </DataView>
  );
}
