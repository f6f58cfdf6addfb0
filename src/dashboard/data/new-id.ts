/** The only randomness of the dashboard: names that a client makes up. */

/** A UUID: the id of a request, or of a new rule. */
export function newId(): string {
  return crypto.randomUUID();
}
