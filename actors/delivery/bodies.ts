/**
 * Bodies of first attempts, kept together: a write to disk is one that the main thread waits for,
 * so those of one turn of the event loop are one. A body is on disk before the commit that opens its
 * attempt, whose digest of it holds for every later attempt.
 */
import type { DeliveryContext } from '../../machines/delivery/delivery.ts';
import type { ProjectView } from '../platform/host/host-port.ts';
import { nextTurn } from '../platform/time-slices.ts';

/** A delivery's body as its channel's sender takes it. */
export interface RenderedBody {
  readonly bytes: Uint8Array;
  /** SHA-256, hex. */
  readonly digest: string;
  /** It is on disk already: another attempt. */
  readonly isKept: boolean;
}

export interface BodySource {
  /** The body that is kept, else one rendered anew. */
  body(view: ProjectView, delivery: DeliveryContext, id: string): RenderedBody;
  /** Keeps bodies in one write. */
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
   * The body of a delivery, on disk when it resolves. Rejects with what rendering or keeping threw,
   * and when the body is not the one of the delivery's earlier attempts.
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
