/**
 * Changes whose response contains a secret once. The request id is printed before the request is
 * sent, so that an uncertain one can be repeated. The response to a repeated request no longer has
 * the secret; the command then says what to do (AUTH-03).
 */

import { EXIT_FAULT, EXIT_OK } from '../command.ts';
import type { ActionContext } from './action.ts';

export interface SecretAnswer {
  readonly secret: string;
  readonly secretAvailable: boolean;
}

/** Exit code: 1 if the secret of what was created is lost. */
export function printSecret(
  { json, print, report }: ActionContext,
  { secret, secretAvailable }: SecretAnswer,
  texts: {
    /** Printed on standard error next to the secret; absent with --json. */
    readonly about: string;
    /** The whole response as JSON. */
    readonly document: () => string;
    /** What to do if the secret is lost. */
    readonly ifLost: string;
  },
): number {
  if (json) print(texts.document());
  else report(texts.about.trimEnd());
  if (secretAvailable) {
    // Printed alone on standard output, so that it can be piped without appearing on a screen.
    if (!json) print(`${secret}\n`);
    return EXIT_OK;
  }
  report(`The secret was in an earlier response and cannot be shown again.\n${texts.ifLost}`);
  return EXIT_FAULT;
}

/** Prints the request id of a change. */
export function reportRequest({ report }: ActionContext, what: string, id: string): void {
  report(`${what} (request ${id})`);
}
