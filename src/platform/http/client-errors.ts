/**
 * Answers connections whose bytes are not an acceptable HTTP request: not HTTP, headers too large, a
 * request that never ends. The answer goes straight to the socket, which is then closed. Unlike
 * Node's own handler, this one counts, and never throws on a socket that has gone.
 */
import type { Socket } from 'node:net';

const statusLines: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: '413 Content Too Large',
};

/**
 * The listener of a server's `clientError`.
 * @param note counts one, by Node's error code
 */
export function clientErrorListener(
  note: (code: string) => void,
): (error: NodeJS.ErrnoException, socket: Socket) => void {
  return (error, socket) => {
    const code = error.code ?? 'unknown';
    note(code);
    // A reset connection has nobody to answer; one with bytes on the way must not get a second head.
    if (code === 'ECONNRESET' || !socket.writable || socket.bytesWritten > 0) {
      socket.destroy();
      return;
    }
    const status = statusLines[code] ?? '400 Bad Request';
    const headers = 'connection: close\r\ncontent-length: 0\r\nx-content-type-options: nosniff';
    socket.end(`HTTP/1.1 ${status}\r\n${headers}\r\n\r\n`);
  };
}
