/** What the API asks of alerting: rules saved and deleted, under limits. */
import type { AlertRuleSpec } from '../../machines/alerting/alert-rule.ts';
import type { Actor } from '../../streams/platform/commit/commit.ts';
import type { Committed, RequestKey } from '../platform/host/host-port.ts';

interface Caller {
  /** Project id. */
  readonly project: string;
  readonly by: Actor;
  readonly request: RequestKey;
}

export interface SaveRule extends Caller {
  /** The rule's id: a UUID made by the client. */
  readonly id: string;
  /** '0' to create; else the version the edit is based on. */
  readonly expectedVersion: string;
  readonly spec: AlertRuleSpec;
}

export interface DeleteRule extends Caller {
  readonly id: string;
  readonly expectedVersion: string;
}

export interface Alerting {
  /**
   * Saves a rule; its instance as committed. Throws a `Refusal`: STALE_VERSION (with
   * `currentVersion`), LIMIT_EXCEEDED, INVALID_FIELD (a VM or destination that does not exist),
   * REQUEST_ID_REUSED, and those of the host.
   */
  saveRule(save: SaveRule): Promise<Committed<{ readonly version: string }>>;
  /** Deletes a rule. Throws a `Refusal`: NOT_FOUND, STALE_VERSION. */
  deleteRule(deletion: DeleteRule): Promise<Committed<Record<string, never>>>;
}
