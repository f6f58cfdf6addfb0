/**
 * The command's side of operator commands: sends requests to the service that runs on a data
 * folder.
 */
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { createInterface } from 'node:readline';
import { type AdminLine, openSocketPath } from './admin-server.ts';

/** Nothing listens on the folder's socket, so no service runs there. */
export class NoService extends Error {}

/** The service could not carry out the request. The message is the service's. */
export class AdminFault extends Error {}

/** The service stopped before it answered. The request may or may not have been carried out. */
export class NoAnswer extends AdminFault {}

/**
 * Resolves with the result of a path, after reporting its progress; `body` is the request. Throws
 * `NoService`, `AdminFault`, `NoAnswer`, or the errors of the connection.
 */
export async function askService(
  folder: string,
  path: string,
  onProgress: (progress: unknown) => void = () => {},
  body: Readonly<Record<string, unknown>> = {},
): Promise<unknown> {
  const response = await post(folder, path, JSON.stringify(body));
  if (response.statusCode !== 200) {
    response.resume();
    const version = 'it may still be starting, or have another version than this command';
    throw new AdminFault(`The service does not know ${path} (${response.statusCode}): ${version}`);
  }
  for await (const text of linesOf(response)) {
    // Both sides are the same program.
    const line = JSON.parse(text) as AdminLine;
    if ('progress' in line) onProgress(line.progress);
    else if ('result' in line) return line.result;
    else throw new AdminFault(line.fault);
  }
  throw gone();
}

async function* linesOf(response: IncomingMessage): AsyncGenerator<string> {
  try {
    yield* createInterface({ input: response });
  } catch (error) {
    // The connection was closed in the middle of the response.
    throw gone({ cause: error });
  }
}

function gone(options?: ErrorOptions): NoAnswer {
  return new NoAnswer('The service stopped before it answered', options);
}

async function post(folder: string, path: string, body: string): Promise<IncomingMessage> {
  try {
    const socket = openSocketPath(folder);
    try {
      const requested = request({ socketPath: socket.path, path, method: 'POST', agent: false });
      requested.end(body);
      const [response] = (await once(requested, 'response')) as [IncomingMessage];
      return response;
    } finally {
      socket.release();
    }
  } catch (error) {
    const code = (error as NodeJS.ErrnoException | null)?.code;
    if (code === 'ENOENT' || code === 'ECONNREFUSED') throw new NoService('No service runs here');
    if (code === 'EACCES' || code === 'EPERM') {
      const who =
        'Only root, and the user that the service runs as, may send commands to the service on';
      throw new AdminFault(`${who} ${folder}. Run this as one of them, e.g. with sudo`, {
        cause: error,
      });
    }
    if (code === 'ECONNRESET' || code === 'EPIPE') throw gone({ cause: error });
    throw error;
  }
}
