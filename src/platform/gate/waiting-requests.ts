/**
 * Shared bound on the memory of all requests that wait for a slot of their project. When it is
 * full, the tenant whose requests take the most makes room, so a tenant with few requests is never
 * refused because of another's many.
 */

/** A waiting request. */
export interface WaitingRequest {
  readonly tenant: string;
  readonly bytes: number;
  /** Refuses it, so that it stops waiting. Must call `remove`. */
  readonly refuse: () => void;
}

export class WaitingRequests {
  readonly #bytesMax: number;
  readonly #ofTenants = new Map<
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
   * Adds a request. To fit it, refuses the newest requests of tenants that would have more than
   * this one. False if it cannot wait, because its own tenant has the most.
   */
  tryAdd(request: WaitingRequest): boolean {
    const { tenant, bytes } = request;
    const own = (this.#ofTenants.get(tenant)?.bytes ?? 0) + bytes;
    while (this.#bytes + bytes > this.#bytesMax) {
      const newest = this.#newestBeyond(own);
      if (newest === undefined) return false;
      newest.refuse();
    }
    const { requests } = this.#ofTenants.get(tenant) ?? { requests: new Set<WaitingRequest>() };
    requests.add(request);
    this.#ofTenants.set(tenant, { bytes: own, requests });
    this.#bytes += bytes;
    return true;
  }

  /** The request no longer waits; harmless on a second call. */
  remove(request: WaitingRequest): void {
    const ofTenant = this.#ofTenants.get(request.tenant);
    if (ofTenant?.requests.delete(request) !== true) return;
    this.#bytes -= request.bytes;
    ofTenant.bytes -= request.bytes;
    if (ofTenant.requests.size === 0) this.#ofTenants.delete(request.tenant);
  }

  /** Newest request of the tenant that has the most, if that exceeds `bytes`. */
  #newestBeyond(bytes: number): WaitingRequest | undefined {
    let most = { bytes, requests: new Set<WaitingRequest>() };
    for (const ofTenant of this.#ofTenants.values())
      if (ofTenant.bytes > most.bytes) most = ofTenant;
    return [...most.requests].at(-1);
  }
}
