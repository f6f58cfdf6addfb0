/** What the API asks of destinations: made, changed and let go, under limits. */
import type { Actor } from '../../streams/commit/commit.ts';
import type { Committed, Instance } from '../host-port.ts';
import type { RequestKey } from './port.ts';

interface Caller {
  /** Project id. */
  readonly project: string;
  readonly by: Actor;
  readonly request: RequestKey;
}

/** Where a new destination sends to. */
export interface NewTarget {
  readonly kind: 'webhook';
  readonly url: string;
}

export interface CreateDestination extends Caller {
  readonly displayName: string;
  readonly target: NewTarget;
}

export interface OneDestination extends Caller {
  /** The destination's id. */
  readonly id: string;
}

export interface CreatedDestination {
  readonly destination: Instance;
  /** `whsec_...`, in the first answer only; undefined when the request had been answered before. */
  readonly webhookSecret?: string;
  readonly sequence: number;
}

export interface Destinations {
  /** Throws a `Refusal`: INVALID_FIELD (an address that may not be called), LIMIT_EXCEEDED. */
  create(creation: CreateDestination): Promise<CreatedDestination>;
  /** Deletes a destination and what is sealed for it. Throws a `Refusal`: NOT_FOUND. */
  delete(deletion: OneDestination): Promise<Committed<Record<string, never>>>;
}
