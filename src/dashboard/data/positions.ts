/**
 * Positions in the service's log that this tab has seen. Each response names its position in a
 * token that only the service can compare, and includes everything up to the positions sent with
 * its request.
 */

/** The tokens that no later response includes; a request takes at most 32. */
export class Positions {
  readonly #tokens = new Set<string>();
  static readonly #TOKENS_MAX = 32;

  /** Tokens for the next request, oldest first. */
  held(): readonly string[] {
    return [...this.#tokens].slice(-Positions.#TOKENS_MAX);
  }

  /** The response waited for all tokens sent with its request, so its own token replaces them. */
  replace(sent: readonly string[], token: string | null): void {
    if (token === null) return;
    for (const each of sent) this.#tokens.delete(each);
    this.#tokens.add(token);
  }
}
