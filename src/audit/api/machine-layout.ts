/**
 * A machine's layout as a message, with everything that a client needs to paint it and to find
 * states and arrows.
 */
import type { MessageInitShape } from '@bufbuild/protobuf';
import {
  type MachineLayout_EventSchema,
  type MachineLayoutSchema,
  MachineLayout_State_Kind as StateKind,
} from '../../gen/svc/audit/v1/audit_pb.ts';
import { type ChartArrow, type ChartState, labelOf } from '../drawing/chart.ts';
import type { Box, Layout, PlacedArrow, PlacedState, Point } from '../drawing/svg.ts';

const KINDS: Readonly<Record<ChartState['kind'], StateKind>> = {
  atomic: StateKind.ATOMIC,
  compound: StateKind.COMPOUND,
  parallel: StateKind.PARALLEL,
  final: StateKind.FINAL,
};

/** The layout with states and arrows named by id, so that a path can be marked in it. */
export function layoutMessage(layout: Layout): MessageInitShape<typeof MachineLayoutSchema> {
  const { root, width, height, states, starts, arrows } = layout;
  const parents = new Map(
    states.flatMap(({ state }) => state.children.map(({ id }) => [id, state.id] as const)),
  );
  const initial = new Map(arrows.map((arrow) => [arrow.start, pointsOf(arrow.points)]));
  return {
    width,
    height,
    states: states.map((placed) => stateMessage(placed, parents.get(placed.state.id) ?? '')),
    starts: starts.map(({ parent, initial: toState, x, y }) => ({
      parentId: parent === root ? '' : parent,
      toState,
      point: { x, y },
      points: initial.get(parent) ?? [],
    })),
    arrows: arrows.flatMap(arrowMessages),
  };
}

function stateMessage({ state, stays, ...box }: PlacedState, parentId: string) {
  const { id, name, kind, description } = state;
  return {
    id,
    name,
    description,
    parentId,
    kind: KINDS[kind],
    box: boxOf(box),
    stays: stays.map(eventMessage),
  };
}

/** The arrow of an initial state is part of its start. */
function arrowMessages({ points, arrows, label }: PlacedArrow) {
  const [first] = arrows;
  if (first?.target === undefined) return [];
  return [
    {
      fromState: first.source,
      toState: first.target,
      points: pointsOf(points),
      events: arrows.map(eventMessage),
      ...(label && { label: boxOf(label) }),
    },
  ];
}

function eventMessage(arrow: ChartArrow): MessageInitShape<typeof MachineLayout_EventSchema> {
  const { type, guard = '', description } = arrow;
  return { event: type, guard, description, label: labelOf(arrow) };
}

function boxOf({ x, y, width, height }: Box) {
  return { x, y, width, height };
}

function pointsOf(points: readonly Point[]) {
  return points.map(({ x, y }) => ({ x, y }));
}
