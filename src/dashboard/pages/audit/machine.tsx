/**
 * A machine, drawn with every state and arrow. `?instance=projects/p/alertRules/id` shows the path
 * of one instance on it, `step` the place on that path.
 */
import type { VNode } from 'preact';
import { DataView } from '../../components/data-view.tsx';
import { pageTitles } from '../../layout/texts.ts';
import { query } from '../../router/location.ts';
import { type Machine, useMachine } from '../../statechart/machine.ts';
import { Statechart } from '../../statechart/statechart.tsx';
import type { PageProps } from '../page.ts';
import { useTitle } from '../title.ts';
import { InstancePanel } from './instance-panel.tsx';
import { RecentSteps } from './recent-steps.tsx';
import { texts } from './texts.ts';

export function Page({ parameters }: PageProps): VNode {
  const projectName = `projects/${parameters.project}`;
  const name = parameters.machine ?? '';
  const machine = useMachine(projectName, name);
  useTitle(name);
  const instance = query.value.get('instance');
  return (
    <>
      <h1>
        {pageTitles.machine} {name}
      </h1>
      <DataView of={machine} lines={8}>
        {(value) => (
          <>
            <p class="weak">
              {value.description} {texts.version(value.version)}
            </p>
            {instance === null ? (
              <>
                <Plain of={value} />
                <RecentSteps machine={value.machine} />
              </>
            ) : (
              <InstancePanel
                projectName={projectName}
                machine={value.machine}
                instance={instance}
              />
            )}
          </>
        )}
      </DataView>
    </>
  );
}

function Plain({ of: { machine, version, layout } }: { readonly of: Machine }): VNode {
  if (!layout) return <p>{texts.noLayout}</p>;
  return <Statechart layout={layout} label={texts.label(machine, version)} />;
}
