/**
 * Memory of all requests that wait for a slot of their project, bounded together. If it is full, the
 * party whose requests take the most makes room: a party with few of them is never refused for the
 * many of another one.
 */

/** A request that waits. */
export interface WaitingRequest {
  readonly party: string;
  readonly bytes: number;
  /** Refuses it, so that it stops waiting. Must call `remove`. */
  readonly refuse: () => void;
}

export class WaitingRequests {
  readonly #bytesMax: number;
  readonly #ofParties = new Map<
    string,
    { bytes: number; readonly requests: Set<WaitingRequest> }
  >();
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Memory that waits, bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Lets a request wait. Refuses the newest requests of parties that would have more than this one
   * until it fits. False if it cannot wait: its own party has the most.
   */
  tryAdd(request: WaitingRequest): boolean {
    const { party, bytes } = request;
    const own = (this.#ofParties.get(party)?.bytes ?? 0) + bytes;
    while (this.#bytes + bytes > this.#bytesMax) {
      const newest = this.#newestBeyond(own);
      if (newest === undefined) return false;
      newest.refuse();
    }
    const { requests } = this.#ofParties.get(party) ?? { requests: new Set<WaitingRequest>() };
    requests.add(request);
    this.#ofParties.set(party, { bytes: own, requests });
    this.#bytes += bytes;
    return true;
  }

  /** The request waits no longer; harmless on a second call. */
  remove(request: WaitingRequest): void {
    const ofParty = this.#ofParties.get(request.party);
    if (ofParty?.requests.delete(request) !== true) return;
    this.#bytes -= request.bytes;
    ofParty.bytes -= request.bytes;
    if (ofParty.requests.size === 0) this.#ofParties.delete(request.party);
  }

  /** The newest request of the party that has the most, if that is more than `bytes`. */
  #newestBeyond(bytes: number): WaitingRequest | undefined {
    let most = { bytes, requests: new Set<WaitingRequest>() };
    for (const ofParty of this.#ofParties.values()) if (ofParty.bytes > most.bytes) most = ofParty;
    return [...most.requests].at(-1);
  }
}
