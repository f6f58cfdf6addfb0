/** Whether anybody still waits for an answer: work for a client that has hung up is given up. */
import type { FastifyReply } from 'fastify';

/** Aborts when the client hangs up before it is answered. */
export function goneSignal({ raw }: FastifyReply): AbortSignal {
  const gone = new AbortController();
  raw.once('close', () => {
    if (!raw.writableEnded) gone.abort(new Error('The client has gone'));
  });
  return gone.signal;
}
