/** The path of one instance on the diagram of its machine. */
import type { VNode } from 'preact';
import { mayDo } from '../../data/projects.ts';
import { RecordedPath } from '../../statechart/recorded-path.tsx';
import { readerOf } from './readers.ts';
import { texts } from './texts.ts';

interface InstancePanelProps {
  readonly projectName: string;
  readonly machine: string;
  /** Resource name, as it appears in the address. */
  readonly instance: string;
}

export function InstancePanel({ projectName, machine, instance }: InstancePanelProps): VNode {
  const needed = readerOf(machine);
  return (
    <section aria-label={texts.path(instance)}>
      <h2 class="long-name">{texts.path(instance)}</h2>
      <p>
        <a href={`/${projectName}/machines/${machine}`}>{texts.allInstances}</a>
      </p>
      {mayDo(needed) ? (
        <RecordedPath projectName={projectName} machine={machine} instanceName={instance} />
      ) : (
        <p>{texts.needs(needed)}</p>
      )}
    </section>
  );
}
