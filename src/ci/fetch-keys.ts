/**
 * Reads an issuer's key set over HTTP: one URL that the configuration pinned, no redirects, no
 * decompression, at most 256 KiB, a few seconds. What is wrong is told in a phrase for operators.
 */
import { Agent, type Dispatcher } from 'undici';

const CONNECT_MS = 3_000;
const IDLE_MS = 4_000;
/** GitHub's has 12 KiB. */
const BYTES_MAX = 256 * 1024;

export interface KeyFetcher {
  /** Text of the answer. Rejects with a phrase of what went wrong. */
  fetch(url: string, signal: AbortSignal): Promise<string>;
  close(): Promise<void>;
}

export function createKeyFetcher(): KeyFetcher {
  const agent = new Agent({
    connect: { timeout: CONNECT_MS },
    connections: 1,
    maxHeaderSize: 16 * 1024,
    headersTimeout: IDLE_MS,
    bodyTimeout: IDLE_MS,
  });
  return {
    fetch: (url, signal) => fetchText(agent, url, signal),
    close: () => agent.destroy(),
  };
}

async function fetchText(agent: Agent, address: string, signal: AbortSignal): Promise<string> {
  const url = new URL(address);
  const answer = await agent.request({
    origin: url.origin,
    path: url.pathname,
    method: 'GET',
    headers: {
      accept: 'application/json',
      'accept-encoding': 'identity',
      'user-agent': 'svc-ci-issuers/1',
    },
    signal,
  } satisfies Dispatcher.RequestOptions);
  try {
    if (answer.statusCode !== 200) throw new Error(`${url.host} answered ${answer.statusCode}`);
    return await readText(answer.body);
  } finally {
    // Also after an answer that was not read to its end; a second error would have no listener.
    answer.body.on('error', () => {}).destroy();
  }
}

async function readText(body: Dispatcher.ResponseData['body']): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > BYTES_MAX) throw new Error(`the answer has more than ${BYTES_MAX / 1024} KiB`);
    chunks.push(chunk);
  }
  return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks));
}
