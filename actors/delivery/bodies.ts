/**
 * Stores the bodies of first attempts. The main thread waits for each write to disk, so all bodies of
 * one turn of the event loop share a write. A body is on disk before the commit that opens its
 * attempt; the digest in that commit applies to every later attempt.
 */
import type { DeliveryContext } from '../../machines/delivery/delivery.ts';
import type { ProjectView } from '../platform/host/host-port.ts';
import { nextTurn } from '../platform/time-slices.ts';

/** A delivery's body in the form that its channel sends. */
export interface RenderedBody {
  readonly bytes: Uint8Array;
  /** SHA-256, hex. */
  readonly digest: string;
  /** True when it is on disk already, for a later attempt. */
  readonly isKept: boolean;
}

export interface BodySource {
  /** The stored body, or a newly rendered one. */
  body(view: ProjectView, delivery: DeliveryContext, id: string): RenderedBody;
  /** Stores bodies in one write. */
  keep(bodies: readonly KeptBody[]): void;
}

export interface KeptBody {
  readonly deliveryId: string;
  readonly body: Uint8Array;
}

export class Bodies {
  readonly #source: BodySource;
  #waiting: KeptBody[] = [];
  #write: Promise<void> | undefined;

  constructor(source: BodySource) {
    this.#source = source;
  }

  /**
   * The body of a delivery, on disk when it resolves. Rejects with faults of rendering and storing,
   * and when the body differs from that of earlier attempts.
   */
  async of(view: ProjectView, delivery: DeliveryContext, id: string): Promise<RenderedBody> {
    const body = this.#source.body(view, delivery, id);
    if (delivery.bodyDigest !== null && delivery.bodyDigest !== body.digest) {
      throw new Error(`The stored body of ${id} is not the one of its earlier attempts`);
    }
    if (!body.isKept) await this.#keep({ deliveryId: id, body: body.bytes });
    return body;
  }

  #keep(body: KeptBody): Promise<void> {
    this.#waiting.push(body);
    this.#write ??= nextTurn().then(() => {
      const bodies = this.#waiting;
      this.#waiting = [];
      this.#write = undefined;
      this.#source.keep(bodies);
    });
    return this.#write;
  }
}
