/** Webhook endpoints on the loopback, one for each way in which a delivery can end. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export type Behaviour = 'accepts' | 'refuses' | 'is overloaded' | 'hangs up';

/** Answers contain markup, which must stay text on every page. */
const ANSWERS: Readonly<Record<Behaviour, (response: ServerResponse) => void>> = {
  accepts: (response) => void response.writeHead(204).end(),
  refuses: (response) => void response.writeHead(404).end('<b>no such hook</b><script>1</script>'),
  'is overloaded': (response) => void response.writeHead(503).end('<img src=x onerror=alert(1)>'),
  // It has read the request, so the service cannot know whether it was accepted.
  'hangs up': (response) => void response.socket?.destroy(),
};

/** Address of the endpoint with each behaviour. */
export async function startEndpoints(scope: {
  teardown(end: () => unknown): unknown;
}): Promise<(behaviour: Behaviour) => string> {
  const server = createServer((request: IncomingMessage, response) => {
    request.resume().on('end', () => {
      const behaviour = decodeURIComponent(request.url?.slice(1) ?? '') as Behaviour;
      ANSWERS[behaviour](response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  scope.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return (behaviour) => `http://127.0.0.1:${port}/${encodeURIComponent(behaviour)}`;
}
