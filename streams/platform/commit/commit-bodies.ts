/**
 * Bodies of commits from the EVENTS stream, from any adapter. Requests in the stream's order share
 * one read; an earlier body is read separately.
 */
import type { Stream, StreamMessage } from '../stream.ts';
import { EVENTS_STREAM } from './events.ts';

export class CommitBodiesOfStream {
  readonly #stream: Pick<Stream, 'read' | 'state'>;
  #messages: AsyncIterator<StreamMessage> | undefined;
  #close: () => Promise<void> = async () => {};
  /** The message at the current position of the read. */
  #current: StreamMessage | undefined;

  constructor(stream: Pick<Stream, 'read' | 'state'>) {
    this.#stream = stream;
  }

  /** The commit's bytes; `removed` by retention; undefined: it is missing but should be there. */
  async at(sequence: number): Promise<Uint8Array | 'removed' | undefined> {
    const found = await this.#find(sequence);
    if (found) return found.data;
    const { firstSequence } = await this.#stream.state(EVENTS_STREAM);
    return sequence < firstSequence ? 'removed' : undefined;
  }

  async close(): Promise<void> {
    await this.#close();
  }

  async #find(sequence: number): Promise<StreamMessage | undefined> {
    if (this.#current && sequence < this.#current.sequence) return this.#readOne(sequence);
    if (!this.#messages) this.#begin(sequence);
    while (!this.#current || this.#current.sequence < sequence) {
      const next = await this.#next();
      if (next?.value === undefined || next.done) return undefined;
      this.#current = next.value;
    }
    return this.#current.sequence === sequence ? this.#current : undefined;
  }

  /** After a message that cannot be read, the next request starts after it. */
  async #next(): Promise<IteratorResult<StreamMessage> | undefined> {
    try {
      return await this.#messages?.next();
    } catch (error) {
      this.#messages = undefined;
      this.#current = undefined;
      throw error;
    }
  }

  #begin(sequence: number): void {
    const read = this.#readFrom(sequence);
    this.#messages = read[Symbol.asyncIterator]();
    this.#close = () => read.close();
  }

  async #readOne(sequence: number): Promise<StreamMessage | undefined> {
    const read = this.#readFrom(sequence);
    try {
      for await (const message of read) return message.sequence === sequence ? message : undefined;
      return undefined;
    } finally {
      await read.close();
    }
  }

  #readFrom(sequence: number) {
    return this.#stream.read({ stream: EVENTS_STREAM, from: { sequence }, untilEnd: true });
  }
}
