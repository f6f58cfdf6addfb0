/**
 * Changes whose answer holds a secret once. The request id is printed before the request goes out,
 * so that a person can repeat an uncertain one. The answer to a repeat has no secret any more; the
 * command then says what to do (AUTH-03).
 */

import { EXIT_FAULT, EXIT_OK } from '../command.ts';
import type { ActionContext } from './action.ts';

export interface SecretAnswer {
  readonly secret: string;
  readonly secretAvailable: boolean;
}

/** Exit code: 1 when what was made has a secret that nobody has. */
export function printSecret(
  { json, print, report }: ActionContext,
  { secret, secretAvailable }: SecretAnswer,
  texts: {
    /** On standard error, beside the secret; absent with --json. */
    readonly about: string;
    /** The whole answer as JSON. */
    readonly document: () => string;
    /** What to do when the secret is lost. */
    readonly ifLost: string;
  },
): number {
  if (json) print(texts.document());
  else report(texts.about.trimEnd());
  if (secretAvailable) {
    // Alone on standard output, so that it can go through a pipe without passing a screen.
    if (!json) print(`${secret}\n`);
    return EXIT_OK;
  }
  report(`The secret was in an earlier answer and cannot be shown again.\n${texts.ifLost}`);
  return EXIT_FAULT;
}

/** Prints the id under which a change goes out. */
export function reportRequest({ report }: ActionContext, what: string, id: string): void {
  report(`${what} (request ${id})`);
}
