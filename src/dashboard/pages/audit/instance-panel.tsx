/** The path of one instance on the drawing of its machine. */
import type { VNode } from 'preact';
import { DataView } from '../../components/data-view.tsx';
import { useLoaded } from '../../data/loaded.ts';
import { mayDo, projectId, projectName } from '../../data/projects.ts';
import { query, setQuery } from '../../router/location.ts';
import { pathOf } from '../../router/match.ts';
import { InstancePath } from '../../statechart/instance-path.tsx';
import type { Layout } from '../../statechart/marking.ts';
import { loadPath, stepOf } from '../../statechart/recorded-steps.ts';
import type { Machine } from './machine-layouts.ts';
import { readerOf } from './readers.ts';
import { texts } from './texts.ts';

interface InstancePanelProps {
  readonly of: Machine;
  /** Resource name, as it stands in the address. */
  readonly instance: string;
}

export function InstancePanel({ of, instance }: InstancePanelProps): VNode {
  const { machine, layout } = of;
  const needed = readerOf(machine);
  return (
    <section aria-label={texts.path(instance)}>
      <h2>{texts.path(instance)}</h2>
      <p>
        <a href={pathOf('machine', { project: projectId.value ?? '', machine })}>
          {texts.allInstances}
        </a>
      </p>
      {!mayDo(needed) && <p>{texts.needs(needed)}</p>}
      {!layout && <p>{texts.noLayout}</p>}
      {mayDo(needed) && layout && <Path machine={machine} layout={layout} instance={instance} />}
    </section>
  );
}

function Path(props: { machine: string; layout: Layout; instance: string }): VNode {
  const { machine, layout, instance } = props;
  const project = projectName.value ?? '';
  const path = useLoaded(`path ${instance}`, loadPath(project, instance));
  return (
    <DataView
      of={path}
      isEmpty={({ items }) => items.length === 0}
      empty={texts.noPath}
      missing={({ nextPageToken }) => (nextPageToken === '' ? [] : [texts.pathCut])}
    >
      {({ items }) => (
        <InstancePath
          layout={layout}
          label={texts.labelOf(machine, instance)}
          steps={items.map(stepOf)}
          at={stepIn(query.value, items.length)}
          onMove={(at) => setQuery({ step: String(at + 1) })}
        />
      )}
    </DataView>
  );
}

/** Position of the step in the query; without one, the newest. */
function stepIn(parameters: URLSearchParams, count: number): number {
  const step = Number(parameters.get('step') ?? count);
  return Number.isInteger(step) && step >= 1 && step <= count ? step - 1 : count - 1;
}
