/** The only source of randomness in the dashboard: ids created by the client. */

/** A UUID for a request or a new rule. */
export function newId(): string {
  return crypto.randomUUID();
}
