/**
 * The watch of a project's incidents in this browser: `watch.ts` on top of the service's stream,
 * Web Locks and a BroadcastChannel.
 */
import { headers, pathOf, probe, record } from './call.ts';
import { serverClock } from './clock.ts';
import { connection } from './connection.ts';
import { EnvelopeReader, encodeEnvelope } from './envelopes.ts';
import { parseRpcError, type RpcError } from './rpc-error.ts';
import type { ResponseOf } from './rpc-types.ts';
import { session } from './session.ts';
import { openWatch, type Relayed, type Watch, type WatchEvents, type WatchPorts } from './watch.ts';

type Message = ResponseOf<'AlertService', 'watchIncidents'>;

/** Watches the incidents of `projects/p`; the caller loads the list itself. */
export function watchIncidents(projectName: string, events: WatchEvents): Watch {
  const name = `svc-watch:${projectName}`;
  const channel = new BroadcastChannel(name);
  const watch = openWatch(
    {
      clock: serverClock,
      stream: (signal, receive) => readStream(projectName, signal, receive),
      lock: (options, whileHeld) => holdLock(name, options, whileHeld),
      relay: (message) => channel.postMessage(message),
    },
    {
      ...events,
      status(state) {
        events.status(state);
        // A page that is not loading anything would not notice that the service is unreachable.
        if (state === 'connecting') probe().catch(() => undefined);
      },
    },
  );
  // Only tabs of this origin can post here.
  channel.onmessage = (event: MessageEvent<Relayed>) => watch.receive(event.data);
  return {
    receive: watch.receive,
    stop() {
      watch.stop();
      channel.close();
    },
  };
}

const readStream: (
  projectName: string,
  signal: AbortSignal,
  receive: Parameters<WatchPorts['stream']>[1],
) => Promise<void> = async (projectName, signal, receive) => {
  const response = await fetch(pathOf('AlertService', 'watchIncidents'), {
    method: 'POST',
    headers: headers('application/connect+json'),
    body: encodeEnvelope({ projectName, changesOnly: true }),
    signal,
    redirect: 'error',
  });
  if (!response.ok || response.body === null) {
    await refuse(parseRpcError(await response.json(), null));
  }
  record(response);
  const reader = new EnvelopeReader();
  for await (const chunk of chunksOf(response)) {
    for (const { isEnd, json } of reader.read(chunk)) {
      if (isEnd) return await ended(json);
      connection.reached();
      receive({ incidents: (json as Message).incidents });
    }
  }
};

/** The last envelope: empty if the service ends the stream normally, otherwise the error. */
async function ended(json: unknown): Promise<void> {
  const error = typeof json === 'object' && json !== null && 'error' in json ? json.error : null;
  if (error !== null) await refuse(parseRpcError(error, null));
}

/** Throws the error; if the session has ended, waits for the user to sign in again. */
async function refuse(error: RpcError): Promise<never> {
  if (error.isSignedOut) await session.ended();
  throw error;
}

async function* chunksOf(response: Response): AsyncGenerator<Uint8Array> {
  const reader = response.body?.getReader();
  for (let read = await reader?.read(); read?.done === false; read = await reader?.read()) {
    yield read.value;
  }
}

/** Runs under the Web Lock; rejects when another tab steals it. */
const holdLock: (
  name: string,
  options: Parameters<WatchPorts['lock']>[0],
  whileHeld: Parameters<WatchPorts['lock']>[1],
) => Promise<void> = async (name, { steal, signal }, whileHeld) => {
  const lost = new AbortController();
  const held = (): Promise<void> => whileHeld(lost.signal);
  try {
    // The interface accepts either a signal or `steal`, never both.
    await navigator.locks.request(name, steal ? { steal } : { signal }, held);
  } finally {
    lost.abort();
  }
};
