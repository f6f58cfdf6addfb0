/**
 * A machine, drawn with every state and arrow. `?instance=projects/p/alertRules/id` shows the path
 * of one instance on it, `step` the place on that path.
 */
import type { VNode } from 'preact';
import { DataView } from '../../components/data-view.tsx';
import { pageTitles } from '../../layout/texts.ts';
import { query } from '../../router/location.ts';
import { Statechart } from '../../statechart/statechart.tsx';
import type { PageProps } from '../page.ts';
import { InstancePanel } from './instance-panel.tsx';
import { type Machine, useMachine } from './machine-layouts.ts';
import { RecentSteps } from './recent-steps.tsx';
import { texts } from './texts.ts';

export function Page({ parameters }: PageProps): VNode {
  const machine = useMachine(parameters.machine ?? '');
  const instance = query.value.get('instance');
  return (
    <>
      <h1>
        {pageTitles.machine} {parameters.machine}
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
              <InstancePanel of={value} instance={instance} />
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
