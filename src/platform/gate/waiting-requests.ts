/**
 * Shared bound on the memory of all requests that wait for a slot of their project. When it is
 * full, the party whose requests take the most makes room, so a party with few requests is never
 * refused because of another's many.
 */

/** A waiting request. */
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

  /** Memory of the waiting requests, bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Adds a request. To fit it, refuses the newest requests of parties that would have more than
   * this one. False if it cannot wait, because its own party has the most.
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

  /** The request no longer waits; harmless on a second call. */
  remove(request: WaitingRequest): void {
    const ofParty = this.#ofParties.get(request.party);
    if (ofParty?.requests.delete(request) !== true) return;
    this.#bytes -= request.bytes;
    ofParty.bytes -= request.bytes;
    if (ofParty.requests.size === 0) this.#ofParties.delete(request.party);
  }

  /** Newest request of the party that has the most, if that exceeds `bytes`. */
  #newestBeyond(bytes: number): WaitingRequest | undefined {
    let most = { bytes, requests: new Set<WaitingRequest>() };
    for (const ofParty of this.#ofParties.values()) if (ofParty.bytes > most.bytes) most = ofParty;
    return [...most.requests].at(-1);
  }
}
