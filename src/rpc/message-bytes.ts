/** Bodies as bytes, whole and plain: for what looks into a message beside the framework. */
import { compressionBrotli, compressionGzip } from '@connectrpc/connect-node';
import { BODY_BYTES_MAX } from '../http/limits.ts';

/** What bodies may be compressed with, in both directions. */
export const COMPRESSIONS = [compressionGzip, compressionBrotli];

/** All of a body. Throws what its source throws, which is where reading is bounded. */
export async function readBytes(body: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** The bytes as they were before `encoding` (null = none). Throws `ConnectError` over 1 MiB. */
export async function decompressed(
  bytes: Uint8Array,
  encoding: string | null,
): Promise<Uint8Array> {
  const compression = COMPRESSIONS.find(({ name }) => name === encoding);
  return compression ? await compression.decompress(bytes, BODY_BYTES_MAX) : bytes;
}
