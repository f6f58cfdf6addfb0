/**
 * The newest messages of each stream, as this connection appended them: a reader at the end of a
 * stream takes them from memory instead of querying what was written a moment ago. A removal and a
 * rollback drop a stream's messages. A message of another connection is missing here: readers query
 * it, and the next append begins a new list after it.
 */
import type { StreamMessage } from '../../../streams/platform/stream.ts';

/** Bounds for each stream. A reader that is further behind queries. */
const MESSAGES_MAX = 64;
const BYTES_MAX = 2 * 1024 * 1024;

/** Messages with consecutive sequences, the oldest first. */
interface Newest {
  readonly messages: StreamMessage[];
  bytes: number;
}

export class NewestMessages {
  /** By id of the stream. */
  readonly #streams = new Map<number, Newest>();

  add(stream: number, message: StreamMessage): void {
    const known = this.#streams.get(stream);
    const isNext = known?.messages.at(-1)?.sequence === message.sequence - 1;
    const newest = known && isNext ? known : { messages: [], bytes: 0 };
    if (newest !== known) this.#streams.set(stream, newest);
    const { messages } = newest;
    messages.push(message);
    newest.bytes += message.data.length;
    while (messages.length > MESSAGES_MAX || newest.bytes > BYTES_MAX) {
      newest.bytes -= messages.shift()?.data.length ?? 0;
    }
  }

  /** All messages with a sequence in (`after`, `through`]; undefined if one of them is not here. */
  within(stream: number, after: number, through: number): readonly StreamMessage[] | undefined {
    const messages = this.#streams.get(stream)?.messages ?? [];
    const first = messages[0]?.sequence ?? Number.POSITIVE_INFINITY;
    const last = messages.at(-1)?.sequence ?? 0;
    if (after + 1 < first || through > last) return undefined;
    return messages.slice(after + 1 - first, through + 1 - first);
  }

  drop(stream: number): void {
    this.#streams.delete(stream);
  }

  dropAll(): void {
    this.#streams.clear();
  }
}
