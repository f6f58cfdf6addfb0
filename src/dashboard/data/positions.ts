/**
 * Positions in the service's log that this tab has seen. Each answer names its position in a token
 * that only the service can compare; an answer includes everything up to the positions that its
 * request sends.
 */

/** The tokens that no later answer includes; a request takes at most 32. */
export class Positions {
  readonly #tokens = new Set<string>();
  static readonly #TOKENS_MAX = 32;

  /** What the next request sends, oldest first. */
  held(): readonly string[] {
    return [...this.#tokens].slice(-Positions.#TOKENS_MAX);
  }

  /** The answer waited for all that were sent with its request, so that its own replaces them. */
  replace(sent: readonly string[], token: string | null): void {
    if (token === null) return;
    for (const each of sent) this.#tokens.delete(each);
    this.#tokens.add(token);
  }
}
