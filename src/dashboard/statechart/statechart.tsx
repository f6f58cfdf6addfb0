/**
 * A machine as a diagram: current states, earlier states, and transitions taken. One state is in
 * the tab order; arrow keys move to the others, and the meaning of each is shown below. A mark is a
 * word and a shape first, and a colour second. On a phone it is a tree of the states.
 */
import { type Signal, useSignal } from '@preact/signals';
import type { ComponentChildren, VNode } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import {
  type Layout,
  type LayoutState,
  type Marking,
  withAncestors,
} from '../../audit/drawing/picture.ts';
import { useWidth } from '../charts/use-width.ts';
import { Icon } from '../components/icon.tsx';
import { Download, Printer } from '../components/icons.ts';
import { saveFile } from '../components/save-file.ts';
import { Drawing } from './drawing.tsx';
import { StateTree, WayList, waysFrom } from './state-tree.tsx';
import { svgFileOf } from './svg-file.ts';
import { texts } from './texts.ts';

export interface StatechartProps {
  readonly layout: Layout;
  /** The machine and the instance: the name of the diagram and the title of its file. */
  readonly label: string;
  /** Ids of the current innermost states; unknown ids mark nothing. */
  readonly current?: readonly string[];
  /** Ids of the innermost states visited. */
  readonly visited?: readonly string[];
  /** Ids of `arrowId`, as found by `markingsOf`. */
  readonly taken?: readonly string[];
  /** True if marks are dashed: recomputed rather than recorded. */
  readonly isRecomputed?: boolean;
}

const NONE: readonly string[] = [];
/** Minimum scale, below which labels are hard to read: wide diagrams scroll instead. */
const SCALE_MIN = 0.9;
/** A diagram that is only slightly too large is scaled to fit instead. */
const FITS_FROM = 0.97 * SCALE_MIN;

export function Statechart(props: StatechartProps): VNode {
  const { layout, label, current = NONE, visited = NONE, taken = NONE, isRecomputed } = props;
  const marking = { current, visited, taken };
  const frame = useRef<HTMLDivElement>(null);
  const width = useWidth(frame);
  const reached = useSignal<string | undefined>(undefined);
  const isWhole = useSignal(false);
  useEffect(() => showCurrent(frame.current), [current.join(' '), width.value > 0]);
  const fit = Math.min(1, width.value / layout.width);
  const isWide = fit < FITS_FROM;
  const scale = isWide && !isWhole.value ? SCALE_MIN : fit;
  return (
    <figure class={isRecomputed ? 'statechart recomputed' : 'statechart'} aria-label={label}>
      <div class="statechart-frame" ref={frame}>
        {/* biome-ignore lint/a11y/noSvgWithoutTitle: the figure names it; each state has a title */}
        <svg
          width={layout.width * scale}
          height={layout.height * scale}
          viewBox={`0 0 ${layout.width} ${layout.height}`}
          {...(width.value === 0 && { class: 'unplaced' })}
        >
          <Drawing
            layout={layout}
            marking={marking}
            isRecomputed={isRecomputed === true}
            wrapState={(state, shapes) => (
              <StateGroup
                key={state.id}
                state={state}
                layout={layout}
                marking={marking}
                reached={reached}
              >
                {shapes}
              </StateGroup>
            )}
          />
        </svg>
      </div>
      <div class="statechart-tree">
        <StateTree layout={layout} marking={marking} />
      </div>
      <figcaption>
        <p class="visually-hidden">
          {summaryOf(layout, current)} {isRecomputed && texts.recomputed} {texts.keys}
        </p>
        <Reached layout={layout} marking={marking} reached={reached} />
        <Legend marking={marking} isRecomputed={isRecomputed === true} />
        <Actions frame={frame} label={label} isWhole={isWhole} isWide={width.value > 0 && isWide} />
      </figcaption>
    </figure>
  );
}

function summaryOf(layout: Layout, current: readonly string[]): string {
  if (current.length === 0) return texts.nowhere;
  const names = layout.states.filter(({ id }) => current.includes(id)).map(({ name }) => name);
  return texts.currently(names.join(', '));
}

/** Scrolls only within the frame; the page stays in place. */
function showCurrent(frame: HTMLDivElement | null): void {
  const tag = frame?.querySelector('.now-tag')?.getBoundingClientRect();
  if (!frame || !tag) return;
  const { left, width } = frame.getBoundingClientRect();
  if (tag.left < left + 60 || tag.right > left + width) {
    frame.scrollLeft += tag.left - left - width / 2;
  }
}

interface StateGroupProps {
  readonly state: LayoutState;
  readonly layout: Layout;
  readonly marking: Marking;
  readonly reached: Signal<string | undefined>;
  readonly children: ComponentChildren;
}

/** A state as a focusable element with a text. */
function StateGroup({ state, layout, marking, reached, children }: StateGroupProps): VNode {
  const ids = layout.states.map(({ id }) => id);
  const inOrder = reached.value ?? marking.current[0] ?? ids[0];
  const isCurrent = marking.current.includes(state.id);
  const moves: Readonly<Record<string, string | undefined>> = {
    ArrowDown: ids[ids.indexOf(state.id) + 1],
    ArrowUp: ids[ids.indexOf(state.id) - 1],
    ArrowRight: layout.states.find(({ parentId }) => parentId === state.id)?.id,
    ArrowLeft: state.parentId,
    Home: ids[0],
    End: ids.at(-1),
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: SVG has no element for text that is read out
    <g
      class="state"
      data-state={state.id}
      aria-label={spokenOf(state, layout, marking)}
      {...(isCurrent && { 'aria-current': 'true' as const })}
      tabindex={state.id === inOrder ? 0 : -1}
      onFocus={() => {
        reached.value = state.id;
      }}
      onClick={() => {
        reached.value = state.id;
      }}
      onKeyDown={(event) => {
        if (!Object.hasOwn(moves, event.key)) return;
        event.preventDefault();
        focusState(event.currentTarget, moves[event.key]);
      }}
    >
      {children}
    </g>
  );
}

function focusState(from: SVGGElement, id: string | undefined): void {
  const states = from.ownerSVGElement?.querySelectorAll<SVGGElement>('[data-state]') ?? [];
  for (const state of states) if (state.dataset.state === id) state.focus();
}

/** `observed, inside sustaining, now`. */
function spokenOf(state: LayoutState, layout: Layout, marking: Marking): string {
  const parent = layout.states.find(({ id }) => id === state.parentId);
  const isActive = withAncestors(layout, marking.current).has(state.id);
  const isPassed = !isActive && withAncestors(layout, marking.visited).has(state.id);
  const words = [
    state.name,
    parent && texts.inside(parent.name),
    state.kind === 'FINAL' && texts.final,
    state.kind === 'PARALLEL' && texts.parallel,
    isActive && texts.now,
    isPassed && texts.passed,
  ];
  return words.filter(Boolean).join(', ');
}

interface ReachedProps {
  readonly layout: Layout;
  readonly marking: Marking;
  readonly reached: Signal<string | undefined>;
}

/** The meaning of the focused state, and the targets of its events. */
function Reached({ layout, marking, reached }: ReachedProps): VNode {
  const state = layout.states.find(({ id }) => id === reached.value);
  return (
    <div class="statechart-reached" aria-live="polite">
      {state && (
        <>
          <p>
            <strong>{state.name}</strong> {state.description}
          </p>
          <WayList ways={waysFrom(layout, state)} taken={new Set(marking.taken)} />
        </>
      )}
    </div>
  );
}

function Legend(props: { readonly marking: Marking; readonly isRecomputed: boolean }): VNode {
  const { marking, isRecomputed } = props;
  const hasPassed = marking.visited.some((id) => !marking.current.includes(id));
  return (
    <ul class="legend">
      {marking.current.length > 0 && (
        <li>
          <span class="now-mark" aria-hidden="true">
            {texts.now}
          </span>{' '}
          {texts.legendNow}
        </li>
      )}
      {hasPassed && (
        <li>
          <span class="passed-mark" aria-hidden="true">
            ✓
          </span>{' '}
          {texts.legendPassed}
        </li>
      )}
      {marking.taken.length > 0 && (
        <li>
          <span class="taken-mark" aria-hidden="true" /> {texts.legendTaken}
        </li>
      )}
      {isRecomputed && <li>{texts.legendRecomputed}</li>}
    </ul>
  );
}

interface ActionsProps {
  readonly frame: { readonly current: HTMLDivElement | null };
  readonly label: string;
  /** True if the diagram is scaled to the available width, even if its texts become small. */
  readonly isWhole: Signal<boolean>;
  /** True if it is wider than the available space. */
  readonly isWide: boolean;
}

function Actions({ frame, label, isWhole, isWide }: ActionsProps): VNode {
  const save = (): void => {
    const drawing = frame.current?.querySelector('svg');
    if (!drawing) return;
    saveFile([svgFileOf(drawing, label)], `${fileNameOf(label)}.svg`, 'image/svg+xml');
  };
  return (
    <div class="buttons chart-actions">
      {isWide && (
        <button
          type="button"
          class="quiet"
          aria-pressed={isWhole.value}
          onClick={() => {
            isWhole.value = !isWhole.value;
          }}
        >
          {texts.whole}
        </button>
      )}
      <button type="button" class="quiet" onClick={save}>
        <Icon node={Download} />
        {texts.download}
      </button>
      <button type="button" class="quiet" onClick={() => window.print()}>
        <Icon node={Printer} />
        {texts.print}
      </button>
    </div>
  );
}

/** Letters, digits and hyphens, which every file system accepts. */
function fileNameOf(label: string): string {
  return label
    .replace(/[^A-Za-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')
    .slice(0, 100);
}
