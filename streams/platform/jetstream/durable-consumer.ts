/**
 * A durable consumer of a JetStream stream. Unless its spec says otherwise, it requests one message
 * at a time, when a receiver wants one: a prefetched message would spend its ack-wait in a buffer.
 * Each settlement is a request, so that it is known to be recorded.
 */
import {
  AckPolicy,
  type ConsumerInfo,
  DeliverPolicy,
  JetStreamApiCodes,
  JetStreamApiError,
  type JsMsg,
} from '@nats-io/jetstream';
import {
  type Consumer,
  type ConsumerSpec,
  type Delivery,
  StreamMisconfigured,
  StreamUnavailable,
} from '../stream.ts';
import type { JetStreamConnection } from './connection.ts';
import { isTransient, messageOf } from './tail-read.ts';

// Short, so that a pull that died with its server is noticed in about a second.
const PULL = { expires: 3_000, idle_heartbeat: 500 };
const RETRY_WAIT_MS = 100;
const NANOS_PER_MS = 1_000_000;

const encoder = new TextEncoder();
const ACK = encoder.encode('+ACK');
// Without a reason: older servers do not understand one and deliver the message again.
const TERM = encoder.encode('+TERM');

/** Opens a receiver of the durable consumer, which is first created or changed to the spec. */
export async function openDurableConsumer(
  connection: JetStreamConnection,
  spec: ConsumerSpec,
): Promise<Consumer & { readonly closed: Promise<void> }> {
  const info = await connection.ask(() => ensureConsumer(connection, spec));
  return new JetStreamConsumer(connection, spec, info);
}

async function ensureConsumer(
  connection: JetStreamConnection,
  spec: ConsumerSpec,
): Promise<ConsumerInfo> {
  const { consumers } = connection.manager;
  const changeable = {
    ack_wait: spec.ackWaitMs * NANOS_PER_MS,
    max_ack_pending: spec.maxAckPending,
    // After max_deliver, a work-queue message would stay undelivered forever.
    max_deliver: -1,
    ...(spec.subject === undefined ? {} : { filter_subject: spec.subject }),
  };
  let info: ConsumerInfo;
  try {
    info = await consumers.info(spec.stream, spec.durable);
  } catch (error) {
    if (!isAbsent(error)) throw error;
    return consumers.add(spec.stream, {
      ...changeable,
      durable_name: spec.durable,
      ack_policy: AckPolicy.Explicit,
      deliver_policy: DeliverPolicy.All,
    });
  }
  if (info.config.ack_policy !== AckPolicy.Explicit || info.config.deliver_subject !== undefined) {
    throw new StreamMisconfigured(
      `Consumer ${spec.durable} of ${spec.stream} is not a pull consumer with explicit ` +
        'acknowledgements: remove it',
    );
  }
  const { config } = info;
  const same =
    config.ack_wait === changeable.ack_wait &&
    config.max_ack_pending === changeable.max_ack_pending &&
    (config.max_deliver ?? -1) === -1 &&
    (config.filter_subject ?? '') === (spec.subject ?? '');
  return same ? info : consumers.update(spec.stream, spec.durable, changeable);
}

class JetStreamConsumer implements Consumer {
  readonly closed: Promise<void>;
  readonly #connection: JetStreamConnection;
  readonly #spec: ConsumerSpec;
  readonly #info: ConsumerInfo;
  readonly #closing = Promise.withResolvers<void>();
  #closed = false;
  #interrupt: () => void = () => {};

  constructor(connection: JetStreamConnection, spec: ConsumerSpec, info: ConsumerInfo) {
    this.#connection = connection;
    this.#spec = spec;
    this.#info = info;
    this.closed = this.#closing.promise;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Delivery, void, void> {
    const consumer = this.#connection.js.consumers.getConsumerFromInfo(this.#info);
    const requested = { ...PULL, max_messages: this.#spec.batch ?? 1 };
    try {
      while (!this.#closed) {
        try {
          const pull = await consumer.fetch(requested);
          this.#interrupt = () => void pull.close();
          // Closed during the request for the pull: nothing else would end it before it expires.
          if (this.#closed) this.#interrupt();
          for await (const message of pull) {
            const delivery = this.#deliveryOf(message);
            if (!this.#closed) yield delivery;
            // It arrived while the receiver was closing. Another receiver gets it at once, not
            // after the ack-wait.
            else await delivery.nak(0);
          }
        } catch (error) {
          if (!isTransient(error)) throw error;
          if (!this.#closed) await this.#whenBack();
        }
      }
    } finally {
      await this.close();
    }
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#interrupt();
    this.#closing.resolve();
  }

  /**
   * Resolves once the server has the consumer again. Throws `StreamMisconfigured` if someone
   * removed it: its position is lost, and only its user can decide whether to start again.
   */
  async #whenBack(): Promise<void> {
    const connection = this.#connection;
    const { stream, durable } = this.#spec;
    const find = () => connection.manager.consumers.info(stream, durable);
    const back = connection
      .requestPatiently(find, () => this.#closed)
      .then(
        () => {},
        (error: unknown) => {
          if (this.#closed || connection.closed) return;
          if (!isAbsent(error)) throw error;
          const message = `Consumer ${durable} of ${stream} was removed: consume again to start from the beginning`;
          throw new StreamMisconfigured(message, { cause: error });
        },
      );
    const interrupted = new Promise<void>((resolve) => {
      this.#interrupt = resolve;
    });
    await Promise.race([back, interrupted]);
    if (connection.closed) await this.close();
    else await connection.pause(RETRY_WAIT_MS);
  }

  #deliveryOf(message: JsMsg): Delivery {
    let settled = false;
    const settle = async (payload: Uint8Array): Promise<void> => {
      if (settled)
        throw new Error(`Message ${message.seq} of ${this.#spec.stream} is already settled`);
      settled = true;
      try {
        await this.#send(message, payload);
      } catch (error) {
        // Not recorded, or not known to be: it may be settled again; otherwise it is delivered
        // again.
        settled = !(error instanceof StreamUnavailable);
        throw error;
      }
    };
    const later = (delayMs: number) => `-NAK ${JSON.stringify({ delay: delayMs * NANOS_PER_MS })}`;
    return {
      ...messageOf(message),
      deliveryCount: message.info.deliveryCount,
      ack: () => settle(ACK),
      nak: (delayMs) => settle(encoder.encode(delayMs > 0 ? later(delayMs) : '-NAK')),
      term: () => settle(TERM),
    };
  }

  async #send(message: JsMsg, payload: Uint8Array): Promise<void> {
    const connection = this.#connection;
    // Every message of a consumer has a reply subject; the published type omits it.
    const { reply } = message as JsMsg & { readonly reply: string };
    const timeout = connection.answerMs;
    await connection.requestLeader(() => connection.nats.request(reply, payload, { timeout }));
  }
}

function isAbsent(error: unknown): boolean {
  return error instanceof JetStreamApiError && error.code === JetStreamApiCodes.ConsumerNotFound;
}
