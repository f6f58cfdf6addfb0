/**
 * Groups: one delivery for incidents of one rule that fire within the destination's wait, to one
 * destination and recipient. The row counts its members. Each member is a record, so that a step of
 * the row stays small however many there are. A member's key is the id that its own delivery would
 * have, and leads to every group that has, or had, the notification.
 */
import { createHash } from 'node:crypto';
import {
  type DeliveryContext,
  type DeliveryReason,
  GROUP_MEMBERS_MAX,
} from '../../machines/delivery/delivery.ts';
import type { NotificationEvent } from '../../machines/platform/effects.ts';
import type { Draft, Instance, ProjectView } from '../platform/host/host-port.ts';

declare module '../platform/host/rows.ts' {
  interface RecordBodies {
    groupMember: GroupMember;
    grouped: GroupedNotificationBody;
  }
}

/** Body of a record of kind `groupMember`, under `<delivery>/<place>` and sorted by incident. */
export interface GroupMember {
  readonly incident: string;
  readonly alertInstance: string;
  readonly evaluationRevision: number;
  readonly occurrence: number;
  /** The reason why the message does not name it; absent if it does. */
  readonly dropped?: DeliveryReason;
}

/** Body of a record of kind `grouped`, under a member's key. */
interface GroupedNotificationBody {
  /**
   * Groups and plain deliveries whose message names it, oldest first. There are several if one
   * replaced another.
   */
  readonly deliveries: readonly string[];
}

/** One recipient of an incident's notifications. */
export interface Audience {
  readonly incident: string;
  readonly destination: string;
  /** Id of the mail recipient; null if the destination has no recipients. */
  readonly recipient: string | null;
}

/** One notification of an incident, and its audience. */
export interface Notification extends Audience {
  readonly event: NotificationEvent;
  readonly occurrence: number;
}

/** Delivery id. The same notification to the same recipient is the same delivery. */
export function deliveryIdOf(notification: Notification): string {
  const { event, occurrence, incident, destination, recipient } = notification;
  return idOf([incident, event, occurrence, destination, recipient ?? '']);
}

function idOf(parts: readonly unknown[]): string {
  const digest = createHash('sha256').update(JSON.stringify(parts)).digest('hex');
  return `dlv_${digest.slice(0, 32)}`;
}

/** The delivery of the notification, and the groups and plain deliveries that have it. */
export function deliveriesOf(view: ProjectView, key: string): Instance<'delivery'>[] {
  const others = view.record('grouped', key)?.body.deliveries ?? [];
  return [key, ...others].flatMap((id) => view.instance('delivery', id) ?? []);
}

/** True for a delivery of several incidents, or of one that others might have joined. */
export function isGroup({ members }: DeliveryContext): boolean {
  return members > 0;
}

/** A member with its place, counted from 1, and the key of its notification. */
export interface PlacedMember extends GroupMember {
  readonly key: string;
  readonly place: number;
}

/** The incidents that the group's message names, in the order in which they fired. */
export function liveMembers(
  view: Pick<ProjectView, 'record'>,
  id: string,
  context: DeliveryContext,
): PlacedMember[] {
  return allMembers(view, id, context).filter(({ dropped }) => dropped === undefined);
}

/** Includes dropped members, with the reasons. */
export function allMembers(
  view: Pick<ProjectView, 'record'>,
  id: string,
  { event, destination, recipient, members }: DeliveryContext,
): PlacedMember[] {
  const places = Array.from({ length: members }, (_, i) => i + 1);
  return places.flatMap((place) => {
    const body = view.record('groupMember', placeOf(id, place))?.body;
    if (!body) return [];
    const { incident, occurrence } = body;
    const key = deliveryIdOf({ incident, occurrence, event, destination, recipient });
    return [{ ...body, key, place }];
  });
}

/** The delivery that the member would have on its own. */
export function alone(context: DeliveryContext, member: GroupMember): DeliveryContext {
  const { incident, alertInstance, evaluationRevision, occurrence } = member;
  return { ...context, incident, alertInstance, evaluationRevision, occurrence, members: 0 };
}

/** A notification that is in a group, or will be. */
export interface GroupedNotification extends Notification {
  readonly alertInstance: string;
  readonly rule: string;
  readonly evaluationRevision: number;
}

/**
 * Adds the notification to the group that collects, or starts one. Repeating is a no-op. It takes
 * at most two steps and two records, because a hundred recipients must fit into one commit.
 */
export function joinGroup(draft: Draft, notification: GroupedNotification, waitMs: number): void {
  const key = deliveryIdOf(notification);
  if (deliveriesOf(draft, key).length > 0) return;
  const id = gatheringGroup(draft, notification, key);
  const { incident, alertInstance, evaluationRevision, occurrence } = notification;
  const joined = { type: 'memberJoined', at: draft.at, incident, waitMs } as const;
  const { context } = draft.send('delivery', id, joined).instance;
  putMember(draft, id, {
    incident,
    alertInstance,
    evaluationRevision,
    occurrence,
    key,
    place: context.members,
  });
  draft.putRecord({ kind: 'grouped', id: key, body: { deliveries: [id] } });
}

/**
 * The newest group of the rule, destination and event, while it has room; otherwise another one.
 */
function gatheringGroup(draft: Draft, notification: GroupedNotification, key: string): string {
  const { destination, recipient, event, rule } = notification;
  const subject = JSON.stringify([destination, recipient ?? '', event, rule]);
  const groupKey = createHash('sha256').update(subject).digest('base64url').slice(0, 22);
  const live = draft.instances('delivery', {
    owner: groupKey,
    final: false,
    limit: LIVE_GROUPS_MAX,
    descending: true,
  });
  const open = live.items.find(
    ({ value, context }) => value === 'gathering' && context.members < GROUP_MEMBERS_MAX,
  );
  if (open) return open.instance;
  const { at, project } = draft;
  const id = idOf([groupKey, key]);
  draft.start('delivery', id, {
    at,
    project,
    event,
    occurrence: 1,
    destination,
    recipient,
    rule,
    groupKey,
    incident: '',
    alertInstance: '',
    evaluationRevision: 0,
  });
  return id;
}

/**
 * Maximum groups to search for one that collects, newest first. The others wait for their attempts.
 */
const LIVE_GROUPS_MAX = 8;

function placeOf(delivery: string, place: number): string {
  return `${delivery}/${place}`;
}

function putMember(draft: Draft, delivery: string, { place, key: _, ...body }: PlacedMember): void {
  const id = placeOf(delivery, place);
  draft.putRecord({ kind: 'groupMember', id, body, sort: body.incident });
}

/**
 * Removes the member from a group whose message has not been rendered, as if it had never been in
 * it.
 */
export function dropMember(
  draft: Draft,
  delivery: string,
  member: PlacedMember,
  dropped: DeliveryReason,
): void {
  putMember(draft, delivery, { ...member, dropped });
  const groups = draft.record('grouped', member.key)?.body.deliveries ?? [];
  const deliveries = groups.filter((id) => id !== delivery);
  draft.putRecord({ kind: 'grouped', id: member.key, body: { deliveries } });
}

/**
 * Makes another group from the remaining members of one whose message has been rendered, because
 * changed content is a new delivery. It keeps the 24 hours and the schedule of the first group.
 * Returns its id.
 */
export function continueGroup(
  draft: Draft,
  { instance, context }: Instance<'delivery'>,
  remaining: readonly PlacedMember[],
): string {
  const id = idOf(['group', instance, 'continued']);
  const { at, project } = draft;
  const { event, occurrence, destination, recipient, rule, createdMs } = context;
  const earlierAttempts = context.earlierAttempts + context.attempts.length;
  draft.start('delivery', id, {
    at,
    project,
    event,
    occurrence,
    destination,
    recipient,
    rule,
    incident: '',
    alertInstance: '',
    evaluationRevision: 0,
    continued: { members: remaining.length, createdMs, earlierAttempts },
  });
  for (const [i, member] of remaining.entries()) {
    putMember(draft, id, { ...member, place: i + 1 });
    addDelivery(draft, member.key, id);
  }
  return id;
}

/**
 * Makes the delivery that repeats a message in the plainest form, once: a chat service rejected the
 * content, which a second attempt with the same bytes would not change. Its schedule starts anew,
 * within the 24 hours of the first one. Returns its id, or undefined if the message was plain.
 */
export function repeatPlainly(draft: Draft, row: Instance<'delivery'>): string | undefined {
  const { instance, context } = row;
  if (context.isPlain) return undefined;
  const id = idOf(['plain', instance]);
  const { at, project } = draft;
  const { event, occurrence, destination, recipient, rule, createdMs } = context;
  const { incident, alertInstance, evaluationRevision } = context;
  const members = liveMembers(draft, instance, context);
  draft.start('delivery', id, {
    at,
    project,
    event,
    occurrence,
    destination,
    recipient,
    rule,
    incident,
    alertInstance,
    evaluationRevision,
    isPlain: true,
    continued: { members: members.length, createdMs, earlierAttempts: 0 },
  });
  for (const [i, member] of members.entries()) putMember(draft, id, { ...member, place: i + 1 });
  const keys = isGroup(context) ? members.map(({ key }) => key) : [instance];
  // A test has no other delivery to be ordered with.
  if (event !== 'TEST') for (const key of keys) addDelivery(draft, key, id);
  return id;
}

function addDelivery(draft: Draft, key: string, id: string): void {
  const deliveries = draft.record('grouped', key)?.body.deliveries ?? [];
  draft.putRecord({ kind: 'grouped', id: key, body: { deliveries: [...deliveries, id] } });
}

/** Deletes the delivery's members, and the records that lead to it, together with it. */
export function forgetMembers(draft: Draft, row: Instance<'delivery'>): void {
  const { context } = row;
  const alone = deliveryIdOf(context);
  if (context.isPlain && !isGroup(context) && draft.record('grouped', alone)) {
    draft.putRecord({ kind: 'grouped', id: alone, body: null });
  }
  for (const { place, key } of allMembers(draft, row.instance, context)) {
    draft.putRecord({ kind: 'groupMember', id: placeOf(row.instance, place), body: null });
    if (!draft.record('grouped', key)) continue;
    draft.putRecord({ kind: 'grouped', id: key, body: null });
  }
}
