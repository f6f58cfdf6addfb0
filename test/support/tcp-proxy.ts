/**
 * A line to a server on the loopback that can be cut: nothing passes in either direction and
 * nothing is closed, as when a cable is pulled. Bytes in flight pass once it is mended.
 */
import { connect, createServer, type Socket } from 'node:net';

export interface TcpProxy {
  readonly port: number;
  cut(): void;
  mend(): void;
  /** Closes every connection for good. */
  close(): void;
}

/** Opens a line to `port` of the loopback. */
export async function startTcpProxy(port: number): Promise<TcpProxy> {
  const sockets = new Set<Socket>();
  let isCut = false;
  const join = (from: Socket, to: Socket): void => {
    sockets.add(from);
    from.on('data', (chunk) => {
      if (!to.write(chunk)) from.pause();
    });
    to.on('drain', () => {
      if (!isCut) from.resume();
    });
    from.on('close', () => {
      sockets.delete(from);
      to.destroy();
    });
    // A reset is treated like any other end.
    from.on('error', () => {});
    if (isCut) from.pause();
  };
  const server = createServer((near) => {
    const far = connect(port, '127.0.0.1');
    join(near, far);
    join(far, near);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    cut() {
      isCut = true;
      for (const socket of sockets) socket.pause();
    },
    mend() {
      isCut = false;
      for (const socket of sockets) socket.resume();
    },
    close() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
