/**
 * Every effect of machines, as plain data. The host expands an effect, inside the same decision,
 * into further events and records; nothing here touches the outside. Outside work, such as
 * sending, is derived from the resulting rows.
 */

/** Events people are notified of. */
export type NotificationEvent = 'FIRING' | 'REPEATED' | 'RECOVERED' | 'TEST';

export type Effect =
  /** Notify the rule's destinations, or for RECOVERED those notified of the firing. */
  | { readonly type: 'notify'; readonly event: NotificationEvent; readonly occurrence: number }
  /** Write the incident's record again from the instance's context. */
  | { readonly type: 'recordIncident' }
  /** The rule's desired revision must reach the evaluator. */
  | { readonly type: 'applyRule' }
  /** Retire every live instance of the rule, for `reason`. */
  | { readonly type: 'retireInstances'; readonly reason: RetireReason };

export type RetireReason = 'RULE_CHANGED' | 'RULE_PAUSED' | 'RULE_DELETED' | 'VM_DELETED';
