/**
 * The recorded path of an instance on the diagram of its machine; `?step` is the position on it.
 */
import type { VNode } from 'preact';
import type { Layout } from '../../audit/drawing/picture.ts';
import { DataView } from '../components/data-view.tsx';
import { useLoaded } from '../data/loaded.ts';
import { query, setQuery } from '../router/location.ts';
import { InstancePath } from './instance-path.tsx';
import { useMachine } from './machine.ts';
import { loadPath, stepOf } from './recorded-steps.ts';
import { texts } from './texts.ts';

export interface RecordedPathProps {
  /** `projects/p`. */
  readonly projectName: string;
  readonly machine: string;
  /** Resource name of the instance. */
  readonly instanceName: string;
  /** Polling interval while the path is growing, s. */
  readonly pollSeconds?: number;
}

export function RecordedPath(props: RecordedPathProps): VNode {
  const machine = useMachine(props.projectName, props.machine);
  return (
    <DataView of={machine} lines={8}>
      {({ layout }) => (layout ? <Path {...props} layout={layout} /> : <p>{texts.noLayout}</p>)}
    </DataView>
  );
}

function Path(props: RecordedPathProps & { readonly layout: Layout }): VNode {
  const { projectName, machine, instanceName, layout, pollSeconds } = props;
  const path = useLoaded(
    `path ${instanceName}`,
    loadPath(projectName, instanceName),
    ...(pollSeconds === undefined ? [] : [pollSeconds]),
  );
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
          label={texts.labelOf(machine, instanceName)}
          steps={items.map(stepOf)}
          at={stepIn(query.value, items.length)}
          onMove={(at) => setQuery({ step: String(at + 1) })}
        />
      )}
    </DataView>
  );
}

/** Position of the step in the query; defaults to the newest. */
export function stepIn(parameters: URLSearchParams, count: number): number {
  const step = Number(parameters.get('step') ?? count);
  return Number.isInteger(step) && step >= 1 && step <= count ? step - 1 : count - 1;
}
