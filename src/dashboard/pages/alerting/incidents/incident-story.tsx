/**
 * Why it fires, on one axis of observation time. The slider moves from step to step and keeps the
 * sample chart, the statechart and the step list in sync. Recorded and recomputed data are never
 * mixed.
 */
import { useSignal } from '@preact/signals';
import type { VNode } from 'preact';
import { TimeSlider } from '../../../charts/time-slider.tsx';
import { WindowChart } from '../../../charts/window-chart.tsx';
import type { Axis, WindowInput } from '../../../charts/window-data.ts';
import { DataView } from '../../../components/data-view.tsx';
import { NoticeBox } from '../../../components/notice-box.tsx';
import { Tabs } from '../../../components/tabs.tsx';
import type { Loader } from '../../../data/loaded.ts';
import { projectName } from '../../../data/projects.ts';
import { query, setQuery } from '../../../router/location.ts';
import { InstancePath, type PathStep } from '../../../statechart/instance-path.tsx';
import { useMachine } from '../../../statechart/machine.ts';
import {
  decisionAxis,
  type Explanation,
  isWorthZooming,
  type Recomputed,
  recomputedSteps,
  recomputedWindow,
  recordedWindow,
  stepAt,
  timeOf,
  wholeAxis,
} from './incident-path.ts';
import { eventNames, texts } from './incident-texts.ts';

export interface IncidentStoryProps {
  readonly explanation: Explanation;
  /** Oldest first; empty until they are loaded. */
  readonly steps: readonly PathStep[];
  /** Loading state of those steps. */
  readonly path: Loader<unknown>;
  /** Undefined if the samples are no longer stored or never were. */
  readonly stored: Loader<Recomputed | undefined> | undefined;
  /** The metric and the place: the name of chart and diagram. */
  readonly label: string;
}

export function IncidentStory(props: IncidentStoryProps): VNode {
  const { explanation, stored } = props;
  // Loaded here so that the diagram survives a change of tabs.
  const machine = useMachine(String(projectName.value), 'alertInstance');
  const isRecomputed = query.value.get('story') === 'recomputed' && stored !== undefined;
  return (
    <section aria-label={texts.window.title}>
      <h2>{texts.window.title}</h2>
      {explanation.summary !== '' && <p class="summary">{explanation.summary}</p>}
      <Agreement explanation={explanation} />
      {stored === undefined ? (
        <Recorded {...props} machine={machine} />
      ) : (
        <Tabs
          label={texts.window.tabs}
          tabs={[
            { key: 'recorded', title: texts.window.recorded },
            { key: 'recomputed', title: texts.window.recomputed },
          ]}
          open={isRecomputed ? 'recomputed' : 'recorded'}
          onOpen={(key) => setQuery({ story: key === 'recomputed' ? key : undefined })}
        >
          {isRecomputed ? (
            <FromStored stored={stored} label={props.label} machine={machine} />
          ) : (
            <Recorded {...props} machine={machine} />
          )}
        </Tabs>
      )}
    </section>
  );
}

/** A notice if re-evaluating the stored samples gives another result or is not possible. */
function Agreement({ explanation }: { readonly explanation: Explanation }): VNode | null {
  const { recomputation } = explanation;
  if (recomputation === undefined) return null;
  const { status, detail } = recomputation;
  // The summary's last sentence already says that it agrees.
  if (status === 'AGREES') return null;
  if (status === 'DIFFERS') {
    return (
      <NoticeBox tone="warning" title={texts.window.differs}>
        {detail}
      </NoticeBox>
    );
  }
  return (
    <NoticeBox tone="info" title={texts.window.notPossible}>
      {detail}
    </NoticeBox>
  );
}

type Machine = ReturnType<typeof useMachine>;

function Recorded(props: IncidentStoryProps & { readonly machine: Machine }): VNode {
  const { explanation, steps, path, stored, label, machine } = props;
  const window = recordedWindow(explanation, steps, stored?.state.value.value);
  return (
    <Story
      machine={machine}
      label={label}
      steps={steps}
      path={path}
      window={window}
      isThinned={explanation.windowThinned}
      isRecomputed={false}
    />
  );
}

function FromStored(props: {
  readonly stored: Loader<Recomputed | undefined>;
  readonly label: string;
  readonly machine: Machine;
}): VNode {
  return (
    <DataView of={props.stored} lines={6}>
      {(recomputed) =>
        recomputed && (
          <>
            <p class="weak">{texts.window.recomputedHelp}</p>
            <Story
              machine={props.machine}
              label={props.label}
              steps={recomputedSteps(recomputed)}
              window={recomputedWindow(recomputed)}
              isThinned={false}
              isRecomputed={true}
            />
          </>
        )
      }
    </DataView>
  );
}

/** On a phone the diagram is a long tree, so it opens on request. */
function isWide(): boolean {
  return window.matchMedia('(min-width: 40rem)').matches;
}

interface StoryProps {
  readonly machine: Machine;
  readonly label: string;
  readonly steps: readonly PathStep[];
  /** If absent, the steps are already loaded. */
  readonly path?: Loader<unknown>;
  readonly window: WindowInput | undefined;
  readonly isThinned: boolean;
  readonly isRecomputed: boolean;
}

function Story(props: StoryProps): VNode {
  const { label, steps, window: samples, isThinned, isRecomputed } = props;
  const moved = useSignal<number | undefined>(undefined);
  // Starts at the latest step and stays there as steps are added.
  const at = Math.min(moved.value ?? steps.length - 1, steps.length - 1);
  const step = steps[at];
  const axes = axesOf(samples, steps, step);
  const isWhole = useSignal<boolean | undefined>(undefined);
  const axis = (isWhole.value ?? axes.isOutside) ? axes.whole : (axes.decision ?? axes.whole);
  const move = (to: number): void => {
    moved.value = to;
    isWhole.value = undefined;
  };
  return (
    <>
      {samples && samples.samples.length > 0 ? (
        <WindowChart
          {...samples}
          label={texts.window.chart(samples.condition.metricId, label)}
          isThinned={isThinned}
          isRecomputed={isRecomputed}
          axis={axis}
          atMs={step && timeOf(step)}
          onReach={(ms) => {
            moved.value = stepAt(steps, ms);
          }}
        />
      ) : (
        <p class="weak">{texts.window.noSamples}</p>
      )}
      {steps.length > 0 && axis && (
        <TimeSlider
          {...axis}
          label={texts.window.slider}
          steps={steps.map((one) => ({
            ms: timeOf(one),
            name: eventNames[one.event] ?? one.event,
          }))}
          at={at}
          onMove={move}
        />
      )}
      {axes.decision && (
        <Zoom
          isWhole={axis === axes.whole}
          onChange={(to) => {
            isWhole.value = to;
          }}
        />
      )}
      <details open={isWide()}>
        <summary>{texts.window.path}</summary>
        <PathView {...props} at={at} onMove={move} />
      </details>
    </>
  );
}

type PathViewProps = Pick<StoryProps, 'machine' | 'path' | 'label' | 'steps'> & {
  readonly at: number;
  readonly onMove: (at: number) => void;
};

/** Says that no steps are recorded only once they are loaded. */
function PathView({ machine, path, label, steps, at, onMove }: PathViewProps): VNode {
  const drawing = (
    <DataView of={machine}>
      {({ layout }) =>
        layout && (
          <InstancePath
            layout={layout}
            label={`${texts.window.path}: ${label}`}
            steps={steps}
            at={at}
            onMove={onMove}
          />
        )
      }
    </DataView>
  );
  return path === undefined ? drawing : <DataView of={path}>{() => drawing}</DataView>;
}

function Zoom(props: { isWhole: boolean; onChange: (isWhole: boolean) => void }): VNode {
  const { isWhole, onChange } = props;
  return (
    <p>
      <button type="button" class="quiet" onClick={() => onChange(!isWhole)}>
        {isWhole ? texts.window.decision : texts.window.whole}
      </button>
    </p>
  );
}

interface Axes {
  readonly whole: Axis | undefined;
  /** Undefined if the whole axis shows it well enough. */
  readonly decision: Axis | undefined;
  /** True if the step is outside the decision's axis. */
  readonly isOutside: boolean;
}

function axesOf(
  window: WindowInput | undefined,
  steps: readonly PathStep[],
  step: PathStep | undefined,
): Axes {
  const whole = wholeAxis(window, steps);
  const decision = window && whole && decisionAxis(window, whole);
  if (!whole || !decision || !isWorthZooming(decision, whole)) {
    return { whole, decision: undefined, isOutside: true };
  }
  const ms = step ? timeOf(step) : decision.startMs;
  return { whole, decision, isOutside: ms < decision.startMs || ms > decision.endMs };
}
