/**
 * The timeline in the service's own sentences: decisions, actions of members, and delivery results.
 */
import type { VNode } from 'preact';
import { pathOfResource, ResourceLink } from '../../../components/resource-link.tsx';
import { msOf, Time } from '../../../components/time.tsx';
import { projectId } from '../../../data/projects.ts';
import type { Incident } from '../../../data/watch.ts';
import { pathOf } from '../../../router/match.ts';
import { eventNames, texts } from './incident-texts.ts';

export function IncidentTimeline(props: {
  readonly incident: Incident;
  readonly people: ReadonlyMap<string, string>;
}): VNode {
  const { incident, people } = props;
  return (
    <section aria-label={texts.timeline.title}>
      <div class="section-head">
        <h2>{texts.timeline.title}</h2>
        <a href={trailOf(incident)}>{texts.timeline.trail}</a>
      </div>
      {incident.timeline.length === 0 && <p class="weak">{texts.timeline.none}</p>}
      <ol class="timeline">
        {incident.timeline.map(({ atUnix, event, by, detail, deliveryName }, i) => (
          <li key={i}>
            <At unix={atUnix} /> <span class="said">{detail || eventNames[event] || event}</span>{' '}
            {people.has(by) && <span class="weak">{texts.page.by(people.get(by) ?? by)}</span>}
            {deliveryName !== '' && pathOfResource(deliveryName) && (
              <ResourceLink name={deliveryName}>{texts.timeline.delivery}</ResourceLink>
            )}
          </li>
        ))}
      </ol>
    </section>
  );
}

/** All recorded steps of the instance that raised it, including those before and after it. */
function trailOf({ alertInstanceName }: Incident): string {
  const path = pathOf('audit', { project: projectId.value ?? '' });
  return `${path}?${new URLSearchParams({ instance: alertInstanceName })}`;
}

function At({ unix }: { readonly unix: string }): VNode | null {
  const ms = msOf(unix);
  return ms === undefined ? null : <Time ms={ms} />;
}
