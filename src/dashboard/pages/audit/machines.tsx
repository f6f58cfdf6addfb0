/** All machines of the service as diagrams; each links to its own page. */
import { useSignal } from '@preact/signals';
import type { VNode } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { NOTHING_MARKED } from '../../../audit/drawing/picture.ts';
import { DataView, Loading } from '../../components/data-view.tsx';
import { read } from '../../data/call.ts';
import { useLoaded } from '../../data/loaded.ts';
import { projectId, projectName } from '../../data/projects.ts';
import type { ResponseOf } from '../../data/rpc-types.ts';
import { pageTitles } from '../../layout/texts.ts';
import { pathOf } from '../../router/match.ts';
import { Drawing } from '../../statechart/drawing.tsx';
import { useMachine } from '../../statechart/machine.ts';
import type { PageProps } from '../page.ts';
import { texts } from './texts.ts';

/** Approximate height of a diagram, lines. */
const SKETCH_LINES = 6;

type Summary = ResponseOf<'AuditService', 'listMachines'>['machines'][number];

export function Page({ parameters }: PageProps): VNode {
  const project = `projects/${parameters.project}`;
  const machines = useLoaded(project, (options) =>
    read('AuditService', 'listMachines', { projectName: project }, options),
  );
  return (
    <>
      <h1>{pageTitles.machines}</h1>
      <p class="weak">{texts.about}</p>
      <DataView of={machines} isEmpty={(all) => all.machines.length === 0} empty={texts.noMachines}>
        {(all) => (
          <ul class="machine-cards">
            {all.machines.map((machine) => (
              <Card key={machine.machine} of={machine} />
            ))}
          </ul>
        )}
      </DataView>
    </>
  );
}

function Card({ of }: { readonly of: Summary }): VNode {
  const place = useRef<HTMLDivElement>(null);
  const isNear = useNear(place);
  return (
    <li>
      <a href={pathOf('machine', { project: projectId.value ?? '', machine: of.machine })}>
        {of.machine}
      </a>
      <div class="machine-sketch" ref={place} aria-hidden="true">
        {isNear && <Sketch machine={of.machine} />}
      </div>
      <p class="weak">{of.description}</p>
    </li>
  );
}

/**
 * A diagram is loaded shortly before it becomes visible: loading sixteen at once would delay the
 * first ones.
 */
function useNear(place: { readonly current: Element | null }): boolean {
  const isNear = useSignal(false);
  useEffect(() => {
    if (place.current === null) return undefined;
    const observer = new IntersectionObserver(
      (entries) => {
        if (entries.some(({ isIntersecting }) => isIntersecting)) isNear.value = true;
      },
      { rootMargin: '200px' },
    );
    observer.observe(place.current);
    return () => observer.disconnect();
  }, [isNear, place]);
  return isNear.value;
}

function Sketch({ machine }: { readonly machine: string }): VNode {
  const layout = useMachine(projectName.value ?? '', machine).state.value.value?.layout;
  if (!layout) return <Loading lines={SKETCH_LINES} />;
  return (
    // biome-ignore lint/a11y/noSvgWithoutTitle: hidden from screen readers; the link names it
    <svg viewBox={`0 0 ${layout.width} ${layout.height}`}>
      <Drawing layout={layout} marking={NOTHING_MARKED} isRecomputed={false} />
    </svg>
  );
}
