/** Bodies as whole, uncompressed bytes: their size limits and accepted compressions. */
import { constants } from 'node:zlib';
import type { DescMessage, DescMethod } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import type { Compression } from '@connectrpc/connect/protocol';
import { compressionBrotli, compressionGzip } from '@connectrpc/connect-node';
import { invalidField } from '../../../streams/platform/refusal.ts';
import { Policy_Access } from '../../gen/svc/options/v1/policy_pb.ts';
import { policyOf } from '../access/policy.ts';
import { toConnectError } from '../errors.ts';
import { ANONYMOUS_BODY_BYTES_MAX, BODY_BYTES_MAX } from '../http-limits.ts';

/** Accepted compressions of bodies, in both directions. */
export const COMPRESSIONS: readonly Compression[] = [compressionGzip, compressionBrotli];

/**
 * The same for requests: bytes that cannot be decompressed are the caller's mistake, INVALID_FIELD.
 * The framework reports a truncated body as its own fault, because zlib only lacks input.
 *
 * @param recordBroken called with the encoding of each body that cannot be decompressed
 */
export function requestCompressions(
  recordBroken: (encoding: string) => void,
): readonly Compression[] {
  return COMPRESSIONS.map((compression) => ({
    ...compression,
    decompress: async (bytes, bytesMax) => {
      try {
        return await compression.decompress(bytes, bytesMax);
      } catch (error) {
        if (!isCallersFault(error)) throw error;
        recordBroken(compression.name);
        const message = `The body cannot be decompressed as ${compression.name}: it is truncated or corrupt`;
        throw toConnectError(invalidField('Content-Encoding', message));
      }
    },
  }));
}

/**
 * Excludes bodies that are too large, which have a reason of their own, and a lack of memory, which
 * is our fault.
 */
function isCallersFault(error: unknown): boolean {
  if (!(error instanceof ConnectError) || error.code === Code.ResourceExhausted) return false;
  const { errno } = error.cause as { readonly errno?: number };
  return errno !== constants.Z_MEM_ERROR;
}

/** Largest body of a request without a list: names and texts, with space to spare. */
const PLAIN_BODY_BYTES_MAX = 64 * 1024;
/**
 * Largest body of a request with a list: 200 VMs to retire, or thousands of names that a rule
 * selects.
 */
const LIST_BODY_BYTES_MAX = 256 * 1024;

/**
 * Largest body of a method, bytes, compressed or not. It follows from the declared access, so a
 * method without a credential always gets the small limit, and from what a request can hold: bodies
 * are parsed on the main thread, and only a collector's rows need much space.
 */
export function bodyBytesMaxOf(method: DescMethod): number {
  const { input } = method;
  const { access } = policyOf(method);
  if (access === Policy_Access.NONE) return ANONYMOUS_BODY_BYTES_MAX;
  const holdsRows = input.fields.some(
    (field) => field.fieldKind === 'list' && field.listKind === 'message',
  );
  if (access === Policy_Access.COLLECTOR && holdsRows) return BODY_BYTES_MAX;
  return hasList(input) ? LIST_BODY_BYTES_MAX : PLAIN_BODY_BYTES_MAX;
}

/** True when the message, or a message inside it, has a list. */
function hasList({ fields }: DescMessage, within: readonly DescMessage[] = []): boolean {
  return fields.some((field) => {
    if (field.fieldKind === 'list') return true;
    if (field.fieldKind !== 'message' || within.includes(field.message)) return false;
    return hasList(field.message, [...within, field.message]);
  });
}

/** The whole body. Throws what its source throws; the source limits reading. */
export async function readBytes(body: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** The bytes decompressed from `encoding` (null = none). Throws `ConnectError`. */
export async function decompressed(
  bytes: Uint8Array,
  encoding: string | null,
): Promise<Uint8Array> {
  const compression = COMPRESSIONS.find(({ name }) => name === encoding);
  return compression ? await compression.decompress(bytes, BODY_BYTES_MAX) : bytes;
}
