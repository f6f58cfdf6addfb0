/**
 * The stored body of a chat message: the full form, and a shorter one for a service that refuses
 * the full one for its size. Both are rendered once, so that every attempt sends the same bytes.
 */

/** Each a whole JSON document, as it is sent. */
export interface ChatBody {
  readonly full: string;
  readonly short: string;
}

export function encodeChatBody({ full, short }: ChatBody): Uint8Array {
  return Buffer.from(JSON.stringify({ full, short }));
}

/** Throws for bytes that `encodeChatBody` did not make: a bug. */
export function decodeChatBody(bytes: Uint8Array): ChatBody {
  const body = JSON.parse(Buffer.from(bytes).toString('utf8')) as Partial<ChatBody>;
  if (typeof body.full !== 'string' || typeof body.short !== 'string') {
    throw new Error('A stored chat message has not both of its forms');
  }
  return { full: body.full, short: body.short };
}
