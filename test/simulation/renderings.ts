/**
 * Renderers of the simulation: they state what the incident is now, and no two renderings are
 * alike. A delivery that is rendered twice therefore reports two different things under one id.
 */
import type { DestinationKind } from '../../machines/delivery/destination.ts';
import type { Renderer } from '../../src/delivery/notify/message/notification-kind.ts';
import type { World } from './world.ts';

const KINDS: readonly DestinationKind[] = ['webhook', 'email', 'slack', 'teams', 'discord'];

export function renderings(world: World): Readonly<Partial<Record<DestinationKind, Renderer>>> {
  const render: Renderer = (view, { event, incident }, { id, nowMs }) => {
    const { body } = view.record('incident', incident) ?? {};
    const state = body?.state ?? null;
    return Buffer.from(JSON.stringify({ id, event, state, nowMs, rendering: world.happenings }));
  };
  return Object.fromEntries(KINDS.map((kind) => [kind, render]));
}
