/**
 * Output for a job's log and its summary. Masking comes first and goes to standard error: the
 * runner reads commands there too, and standard output belongs to the child or to the token.
 */
import { appendFileSync } from 'node:fs';
import type { ActionContext } from '../client/action.ts';

/**
 * Keeps a secret out of the log of the job from here on. Only where the runner understands the
 * command: elsewhere the command itself would be what prints the secret.
 */
export function mask({ environment, surroundings }: ActionContext, secret: string): void {
  if (environment.GITHUB_ACTIONS === 'true') surroundings.stderr(`::add-mask::${secret}\n`);
}

/** Adds to the summary page of the job's run; a summary that cannot be written is only reported. */
export function addToSummary({ environment, report }: ActionContext, markdown: string): void {
  const path = environment.GITHUB_STEP_SUMMARY;
  if (!path) return;
  try {
    appendFileSync(path, markdown);
  } catch (error) {
    report(`The summary of the step could not be written: ${(error as Error).message}`);
  }
}
