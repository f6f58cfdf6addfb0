/** Raises the limits of a bench's project above the defaults, with the command for operators. */
import { PROJECT_LIMITS } from '../../actors/platform/project-limits.ts';
import { runInProcess } from '../../test/support/program.ts';

/**
 * Ensures that the service is measured and not a project's share. `folder`: data folder of the
 * service.
 */
export async function liftLimits(folder: string): Promise<void> {
  const lifted = [
    ...(['samplesPerSecond', 'ingestBytesPerSecond', 'headBytes', 'instances'] as const),
    ...(['vms', 'series'] as const),
  ];
  const options = lifted.flatMap((name) => {
    const option = name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
    return [`--${option}`, String(PROJECT_LIMITS[name].max)];
  });
  const words = ['admin', 'limits', 'set', 'demo', ...options, '--data', folder];
  const { code, text } = await runInProcess(words);
  if (code !== 0) throw new Error(`The limits were not lifted: ${text}`);
}
