/** Bodies as bytes, whole and plain: how large they may be, what they may be packed with. */
import { constants } from 'node:zlib';
import { type DescMethod, getOption } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import type { Compression } from '@connectrpc/connect/protocol';
import { compressionBrotli, compressionGzip } from '@connectrpc/connect-node';
import { Refusal } from '../../streams/refusal.ts';
import { toConnectError } from '../errors.ts';
import { Policy_Access, policy } from '../gen/svc/options/v1/policy_pb.ts';
import { ANONYMOUS_BODY_BYTES_MAX, BODY_BYTES_MAX } from '../http/limits.ts';

/** What bodies may be compressed with, in both directions. */
export const COMPRESSIONS: readonly Compression[] = [compressionGzip, compressionBrotli];

/**
 * The same for requests: bytes that do not unpack are the caller's mistake, INVALID_FIELD. The
 * framework calls a body that breaks off its own fault, because zlib only lacks input then.
 *
 * @param noteBroken called with the encoding of each body that does not unpack
 */
export function requestCompressions(
  noteBroken: (encoding: string) => void,
): readonly Compression[] {
  return COMPRESSIONS.map((compression) => ({
    ...compression,
    decompress: async (bytes, bytesMax) => {
      try {
        return await compression.decompress(bytes, bytesMax);
      } catch (error) {
        if (!isCallersFault(error)) throw error;
        noteBroken(compression.name);
        const message = `The body does not unpack as ${compression.name}: it broke off, or was changed`;
        throw toConnectError(new Refusal('INVALID_FIELD', message, { field: 'Content-Encoding' }));
      }
    },
  }));
}

/** Neither too large, which has a reason of its own, nor a lack of memory, which is ours. */
function isCallersFault(error: unknown): boolean {
  if (!(error instanceof ConnectError) || error.code === Code.ResourceExhausted) return false;
  const { errno } = error.cause as { readonly errno?: number };
  return errno !== constants.Z_MEM_ERROR;
}

/**
 * The largest body of a method, packed or not. It follows from the declared access, so that a
 * method which asks for no credential cannot be written without the small one.
 */
export function bodyBytesMaxOf(method: DescMethod): number {
  const { access } = getOption(method, policy);
  return access === Policy_Access.NONE ? ANONYMOUS_BODY_BYTES_MAX : BODY_BYTES_MAX;
}

/** All of a body. Throws what its source throws, which is where reading is bounded. */
export async function readBytes(body: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/**
 * The bytes as they were before `encoding` (null = none), at most `bytesMax` of them. Throws
 * `ConnectError`.
 */
export async function decompressed(
  bytes: Uint8Array,
  encoding: string | null,
  { compressions = COMPRESSIONS, bytesMax = BODY_BYTES_MAX }: DecompressOptions = {},
): Promise<Uint8Array> {
  const compression = compressions.find(({ name }) => name === encoding);
  return compression ? await compression.decompress(bytes, bytesMax) : bytes;
}

interface DecompressOptions {
  readonly compressions?: readonly Compression[];
  readonly bytesMax?: number;
}
