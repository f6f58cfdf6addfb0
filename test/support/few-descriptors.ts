/** Work that runs in a process without a free file descriptor, and again once it has some. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const child = fileURLToPath(new URL('few-descriptors-child.ts', import.meta.url));
const DESCRIPTORS = 128;

/**
 * Outcome of each run. Rejects if the process ends otherwise, for example by an unhandled
 * rejection.
 */
export async function withoutDescriptors(
  work: 'mail' | 'stat',
): Promise<{ readonly without: unknown; readonly after: unknown }> {
  const script = `ulimit -n ${DESCRIPTORS}; exec "$0" "$@"`;
  const args = ['-c', script, process.execPath, child, work];
  const { stdout } = await promisify(execFile)('sh', args, { timeout: 600_000 });
  return JSON.parse(stdout);
}
