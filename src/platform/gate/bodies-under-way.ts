/**
 * Bodies that have begun and are not whole, or wait for a slot: they cost memory and nothing else, so
 * that their bound is one of bytes and of count, apart from the slots of calls. A client that sends a
 * byte now and then holds one of these, and no slot that anybody else's call needs.
 */
import { BODY_BYTES_MAX } from '../http-limits.ts';

/** For each call that may run: with the default of 8, 32 MiB and 256 bodies of a project. */
const BYTES_FOR_EACH = 4 * BODY_BYTES_MAX;
const BODIES_FOR_EACH = 32;

interface UnderWay {
  readonly bytes: number;
  readonly bodies: number;
}

const NOTHING: UnderWay = { bytes: 0, bodies: 0 };

export class BodiesUnderWay {
  readonly #ofParties = new Map<string, UnderWay>();
  readonly #ofCallers = new Map<string, UnderWay>();

  /**
   * Counts a body of at most so many bytes; a caller has half of its party's bound.
   *
   * @returns what takes it back, harmless on a second call; undefined: there is no room for it
   */
  tryTake(
    caller: { readonly party: string; readonly name: string },
    bytes: number,
    concurrency: number,
  ): (() => void) | undefined {
    const { party } = caller;
    const name = `${party} ${caller.name}`;
    const change = { bytes, bodies: 1 };
    const ofParty = sum(this.#ofParties.get(party), change);
    const ofCaller = sum(this.#ofCallers.get(name), change);
    if (!isWithin(ofParty, concurrency) || !isWithin(ofCaller, concurrency / 2)) return undefined;
    this.#ofParties.set(party, ofParty);
    this.#ofCallers.set(name, ofCaller);
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      takeBack(this.#ofParties, party, bytes);
      takeBack(this.#ofCallers, name, bytes);
    };
  }
}

function isWithin({ bytes, bodies }: UnderWay, concurrency: number): boolean {
  return bytes <= concurrency * BYTES_FOR_EACH && bodies <= concurrency * BODIES_FOR_EACH;
}

function sum({ bytes, bodies } = NOTHING, more: UnderWay): UnderWay {
  return { bytes: bytes + more.bytes, bodies: bodies + more.bodies };
}

function takeBack(counts: Map<string, UnderWay>, key: string, bytes: number): void {
  const left = sum(counts.get(key), { bytes: -bytes, bodies: -1 });
  if (left.bodies > 0) counts.set(key, left);
  else counts.delete(key);
}
