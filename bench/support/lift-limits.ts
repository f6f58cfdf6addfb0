/** Gives the project of a bench more than the default limits, by the command that operators have. */
import { PROJECT_LIMITS } from '../../actors/platform/project-limits.ts';
import { runInProcess } from '../../test/support/program.ts';

/** So that what is measured is the service and not a project's share. `folder`: of its data. */
export async function liftLimits(folder: string): Promise<void> {
  const lifted = ['samplesPerSecond', 'ingestBytesPerSecond', 'headBytes', 'instances'] as const;
  const options = lifted.flatMap((name) => {
    const option = name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
    return [`--${option}`, String(PROJECT_LIMITS[name].max)];
  });
  const words = ['admin', 'limits', 'set', 'demo', ...options, '--data', folder];
  const { code, text } = await runInProcess(words);
  if (code !== 0) throw new Error(`The limits were not lifted: ${text}`);
}
