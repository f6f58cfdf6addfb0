/**
 * Bodies of deliveries on their way to disk. A body is rendered once and never changes, so that each
 * attempt sends the same bytes.
 */
import type { DeliveryContext } from '../../machines/delivery/delivery.ts';
import { BoundedCache } from '../../streams/platform/bounded-cache.ts';
import { nextTurn } from '../../streams/platform/operators.ts';
import type { ProjectView } from '../platform/host/host-port.ts';

/** A delivery's body in the form that its channel sends. */
export interface RenderedBody {
  readonly bytes: Uint8Array;
  /** SHA-256, hex. */
  readonly digest: string;
  /** True if it is already on disk, for a later attempt. */
  readonly isKept: boolean;
}

/** Renders and stores bodies. A body is rendered once and never changes. */
export interface BodySource {
  /** The stored body, or a newly rendered one. */
  body(view: ProjectView, delivery: DeliveryContext, id: string): Promise<RenderedBody>;
  /**
   * Stores bodies in one write.
   *
   * @returns ids of the deliveries that already had a body, which stays
   */
  keep(bodies: readonly KeptBody[]): Promise<readonly string[]>;
}

/** A rendered body to store. */
export interface KeptBody {
  readonly deliveryId: string;
  readonly body: Uint8Array;
}

/**
 * A delivery with earlier attempts has no stored body: either it has ended at another member, which
 * this one is about to learn, or the store has lost the body.
 */
export class BodyGone extends Error {
  constructor(delivery: string) {
    super(`The body of ${delivery}, which had attempts, is no longer stored`);
    this.name = 'BodyGone';
  }
}

/** Maximum bodies in memory for attempts that wait for a slot. */
const HELD_MAX = 256;

/** Bodies on their way to disk. Concurrent ones share one write. */
export class Bodies {
  readonly #source: BodySource;
  /**
   * Bodies on disk, kept in memory for attempts that wait for a slot, so that they are not read
   * again.
   */
  readonly #held = new BoundedCache<string, RenderedBody>(HELD_MAX);
  #waiting: KeptBody[] = [];
  #write: Promise<readonly string[]> | undefined;

  constructor(source: BodySource) {
    this.#source = source;
  }

  /**
   * The body of a delivery, on disk when the promise resolves. Rejects with faults of rendering and
   * storing, and if the body differs from that of earlier attempts.
   */
  async of(view: ProjectView, delivery: DeliveryContext, id: string): Promise<RenderedBody> {
    const body = this.#take(id) ?? (await this.#source.body(view, delivery, id));
    if (delivery.bodyDigest !== null && delivery.bodyDigest !== body.digest) {
      if (!body.isKept) throw new BodyGone(id);
      throw new Error(`The stored body of ${id} differs from that of its earlier attempts`);
    }
    if (body.isKept) return body;
    const others = await this.#keep({ deliveryId: id, body: body.bytes });
    // Another member rendered it at the same time, and stored it first.
    return others.includes(id) ? this.#source.body(view, delivery, id) : body;
  }

  /** Keeps the body in memory for the next call of `of`, which removes it. */
  hold(id: string, body: RenderedBody): void {
    this.#held.set(id, { ...body, isKept: true });
  }

  #take(id: string): RenderedBody | undefined {
    const held = this.#held.get(id);
    this.#held.delete(id);
    return held;
  }

  #keep(body: KeptBody): Promise<readonly string[]> {
    this.#waiting.push(body);
    this.#write ??= nextTurn().then(() => {
      const bodies = this.#waiting;
      this.#waiting = [];
      this.#write = undefined;
      return this.#source.keep(bodies);
    });
    return this.#write;
  }
}
