/**
 * A machine, drawn with all states and transitions. `?instance=projects/p/alertRules/id` shows the
 * path of one instance on it, and `step` the position on that path.
 */

import type { VNode } from 'preact';
import { DataView } from '../../components/data-view.tsx';
import { pageTitles } from '../../layout/texts.ts';
import { query } from '../../router/location.ts';
import { type Machine, useMachine } from '../../statechart/machine.ts';
import { Statechart } from '../../statechart/statechart.tsx';
import { AboveTitle } from '../above-title.tsx';
import type { PageProps } from '../page.ts';
import { useTitle } from '../title.ts';
import { InstancePanel } from './instance-panel.tsx';
import { RecentSteps } from './recent-steps.tsx';
import { texts } from './texts.ts';

export function Page({ parameters }: PageProps): VNode {
  const { project = '' } = parameters;
  const projectName = `projects/${project}`;
  const name = parameters.machine ?? '';
  const machine = useMachine(projectName, name);
  // A name in the address is not displayed until the machine is known to exist.
  const isKnown = machine.state.value.value !== undefined;
  useTitle(isKnown ? name : undefined);
  const instance = query.value.get('instance');
  return (
    <>
      <AboveTitle list="machines" project={project} />
      <h1>
        {pageTitles.machine} {isKnown && name}
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
