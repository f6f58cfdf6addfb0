/**
 * The state at each point of the log of decisions: a plain reading of its steps in order,
 * independent of the service's own queries.
 */
import type { AlertInstanceContext } from '../../../machines/alerting/alert-instance.ts';
import type { AlertRuleContext } from '../../../machines/alerting/alert-rule.ts';
import type { DeliveryContext } from '../../../machines/delivery/delivery.ts';
import type { DestinationKind } from '../../../machines/delivery/destination.ts';
import type { Fact } from './facts.ts';

export interface IncidentModel {
  readonly id: string;
  readonly notify: boolean;
  isRecovered: boolean;
  retiredFor: string | undefined;
  isSnoozed: boolean;
  reminders: number;
}

export interface DeliveryModel {
  readonly context: DeliveryContext;
  readonly value: unknown;
}

export class Model {
  readonly rules = new Map<string, AlertRuleContext & { readonly isDeleted: boolean }>();
  readonly destinations = new Map<
    string,
    { readonly value: unknown; readonly kind: DestinationKind }
  >();
  readonly recipients = new Map<
    string,
    { readonly value: unknown; readonly membership: string; readonly destination: string }
  >();
  readonly memberships = new Map<string, unknown>();
  /** Incidents by id. */
  readonly incidents = new Map<string, IncidentModel>();
  /** The last incident of each alert instance. */
  readonly current = new Map<string, IncidentModel>();
  readonly deliveries = new Map<string, DeliveryModel>();

  take({ step }: Fact): void {
    const { instance: id, to: value, context } = step;
    switch (step.machine) {
      case 'alertRule': {
        const isDeleted = step.final;
        this.rules.set(id, { ...(context as unknown as AlertRuleContext), isDeleted });
        break;
      }
      case 'destination':
        this.destinations.set(id, { value, kind: context.kind as DestinationKind });
        break;
      case 'recipient': {
        const { membership, destination } = context as { membership: string; destination: string };
        this.recipients.set(id, { value, membership, destination });
        break;
      }
      case 'membership':
        this.memberships.set(id, value);
        break;
      case 'delivery':
        this.deliveries.set(id, { context: context as unknown as DeliveryContext, value });
        break;
      case 'alertInstance':
        this.#takeIncident(step);
        break;
      default:
    }
  }

  /** Follows the event, not what its context says. */
  #takeIncident({ instance, event, context }: Fact['step']): void {
    const { incident } = context as unknown as AlertInstanceContext;
    if (event.type === 'sustained' && incident) {
      const opened: IncidentModel = {
        id: incident.id,
        notify: event.notify === true,
        isRecovered: false,
        retiredFor: undefined,
        isSnoozed: false,
        reminders: 0,
      };
      this.incidents.set(incident.id, opened);
      this.current.set(instance, opened);
      return;
    }
    const current = this.current.get(instance);
    if (!current) return;
    if (event.type === 'recovered') current.isRecovered = true;
    if (event.type === 'retired' && !current.isRecovered) current.retiredFor = String(event.reason);
    if (event.type === 'snoozed') current.isSnoozed = true;
    if (event.type === 'unsnoozed' || isSnoozeEnd(event.type)) current.isSnoozed = false;
    if (incident?.id === current.id) current.reminders = incident.repeats;
  }

  /** True if this audience was notified of the firing, or may have been. */
  mayKnow({ incident, destination, recipient }: DeliveryContext): boolean {
    for (const { context } of this.deliveries.values()) {
      if (context.incident !== incident || context.destination !== destination) continue;
      if (context.recipient !== recipient || context.event === 'RECOVERED') continue;
      const reached = ({ outcome }: DeliveryContext['attempts'][number]): boolean =>
        outcome === null || outcome === 'accepted' || outcome === 'unknown';
      if (context.attempts.some(reached)) return true;
    }
    return false;
  }
}

function isSnoozeEnd(type: string): boolean {
  return type.startsWith('xstate.after') && type.includes('snoozeEnd');
}
