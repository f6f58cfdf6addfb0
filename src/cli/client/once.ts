/**
 * Changes whose answer holds a secret once. The request id is told before the request goes out, so
 * that an uncertain one can be gone on with by hand; an answer to a resend has no secret any more,
 * and then it is told what to do (AUTH-03).
 */

import { EXIT_FAULT, EXIT_OK } from '../command.ts';
import type { ActionContext } from './action.ts';

export interface SecretAnswer {
  readonly secret: string;
  readonly secretAvailable: boolean;
}

/** Exit code: 1 when what was made has a secret that nobody has. */
export function tellSecret(
  { json, print, tell }: ActionContext,
  { secret, secretAvailable }: SecretAnswer,
  told: {
    /** On standard error, beside the secret; absent with --json. */
    readonly about: string;
    /** The whole answer as JSON. */
    readonly document: () => string;
    /** What would do when the secret is lost. */
    readonly ifLost: string;
  },
): number {
  if (json) print(told.document());
  else tell(told.about.trimEnd());
  if (secretAvailable) {
    // Alone on standard output, so that it can go through a pipe without passing a screen.
    if (!json) print(`${secret}\n`);
    return EXIT_OK;
  }
  tell(`The secret was in an earlier answer and cannot be had again.\n${told.ifLost}`);
  return EXIT_FAULT;
}

/** Tells under which id a change goes out. */
export function tellRequest({ tell }: ActionContext, what: string, id: string): void {
  tell(`${what} (request ${id})`);
}
