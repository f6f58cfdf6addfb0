/** A delivery's recorded path, with the checks that each recheck made before it decided. */
import { create } from '@bufbuild/protobuf';
import type { ProjectView, RecordedTransition } from '../../../actors/platform/host/host-port.ts';
import { DELIVERY_CHECKS, type DeliveryCheck } from '../../../machines/delivery/delivery.ts';
import {
  type Delivery_Check,
  Delivery_Check_Kind,
  Delivery_CheckSchema,
  Delivery_State,
  type Delivery_Step,
  Delivery_StepSchema,
} from '../../gen/svc/monitoring/v1/delivery_pb.ts';
import { enumValue } from '../../platform/api/message-fields.ts';

/** An attempt has two or three steps, and a delivery makes some dozens of attempts a day. */
const STEPS_MAX = 500;

/** Oldest first. */
export function deliverySteps(view: ProjectView, delivery: string): Delivery_Step[] {
  const of = { machine: 'delivery', instance: delivery, limit: STEPS_MAX };
  let openAttempt = '';
  return view.transitions(of).items.map((transition) => {
    const { event, atMs, to } = transition;
    const named = typeof event.attemptId === 'string' ? event.attemptId : undefined;
    if (event.type === 'cleared') openAttempt = named ?? '';
    const isOutcome = OUTCOMES.has(String(event.type));
    return create(Delivery_StepSchema, {
      atUnixMs: BigInt(atMs),
      event: eventName(transition),
      attemptId: named ?? (isOutcome ? openAttempt : ''),
      checks: checksIn(event),
      state: to === 'gathering' ? Delivery_State.QUEUED : stateNamed(to),
    });
  });
}

function stateNamed(to: unknown): Delivery_State {
  return enumValue(Delivery_State, String(to).toUpperCase());
}

const OUTCOMES: ReadonlySet<string> = new Set([
  'accepted',
  'attemptFailed',
  'refused',
  'attemptLost',
]);

const TIMER = /^xstate\.after\.(\w+)\./;

function eventName({ event, from }: RecordedTransition): string {
  if (from === null) return '';
  const type = String(event.type);
  const [, delay] = TIMER.exec(type) ?? [];
  return delay === undefined ? type : `after ${delay}`;
}

/** A suppressed delivery failed the last check, for the event's reason. */
function checksIn({ type, checks, reason }: RecordedTransition['event']): Delivery_Check[] {
  if (!Array.isArray(checks)) return [];
  const known = checks.filter((check): check is DeliveryCheck => DELIVERY_CHECKS.includes(check));
  return known.map((check, i) => {
    const fails = type === 'suppressed' && i === known.length - 1;
    return create(Delivery_CheckSchema, {
      check: Delivery_Check_Kind[check],
      holds: !fails,
      reason: fails ? String(reason) : '',
    });
  });
}
