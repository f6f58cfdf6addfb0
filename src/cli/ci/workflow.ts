/**
 * Output for a job's log and summary. Masking comes first and goes to standard error: the runner
 * reads commands there too, and standard output belongs to the child or the token.
 */
import { appendFileSync } from 'node:fs';
import type { ActionContext } from '../client/action.ts';

/**
 * Masks a secret in the job's log from now on. Used only if the runner understands the command:
 * otherwise the command itself would print the secret.
 */
export function mask({ environment, surroundings }: ActionContext, secret: string): void {
  if (environment.GITHUB_ACTIONS === 'true') surroundings.stderr(`::add-mask::${secret}\n`);
}

/** Appends to the summary page of the job's run; a failure to write it is only reported. */
export function addToSummary({ environment, report }: ActionContext, markdown: string): void {
  const path = environment.GITHUB_STEP_SUMMARY;
  if (!path) return;
  try {
    appendFileSync(path, markdown);
  } catch (error) {
    report(`The step summary could not be written: ${(error as Error).message}`);
  }
}
