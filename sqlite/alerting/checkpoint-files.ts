/**
 * Files of checkpoints, in a folder of their own: one for each partition, and an index.
 *
 *     checkpoints/index            positions in the log, and the file of each partition
 *     checkpoints/17-4711          partition 17 after the entry 4711: packed blocks, then an end mark
 *
 * A file is synced before the index names it, and the index is replaced as a whole. So whatever a
 * kill leaves behind, the index names complete files. All of it can be rebuilt from rows and the log:
 * a damaged file is not used, and the folder may be removed while the service is stopped.
 */
import { Buffer } from 'node:buffer';
import { type FileHandle, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { constants, crc32, zstdCompress, zstdDecompress } from 'node:zlib';
import { makeFolder } from '../platform/make-folder.ts';

const pack = promisify(zstdCompress);
const unpack = promisify(zstdDecompress);
/** Fast: times and values that repeat are most of a block. */
const PACK_OPTIONS = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };

/** A checkpoint file or index that cannot be used. Evaluation starts without it. */
export class CheckpointUnusable extends Error {
  override readonly name = 'CheckpointUnusable';
}

/** Length and checksum before each packed block. */
const FRAME_BYTES = 8;
/** Maximum size of an unpacked block, bytes: one VM with thousands of series fits. */
const BLOCK_BYTES_MAX = 64 * 1024 * 1024;
/** Maximum size of the index, bytes: 64 partitions take about 5 KB. */
const INDEX_BYTES_MAX = 1024 * 1024;
const INDEX = 'index';
const PARTIAL = '.partial';

/** The folder's files. One writer at a time. */
export class CheckpointFiles {
  readonly #folder: string;

  /** @param folder made with the first write, accessible to its owner only */
  constructor(folder: string) {
    this.#folder = folder;
  }

  /** The index as it was saved; undefined: never saved. Rejects with `CheckpointUnusable`. */
  async index(): Promise<unknown> {
    const bytes = await this.#contents(INDEX);
    if (bytes === undefined) return undefined;
    const [sum = '', text = ''] = bytes.toString().split('\n', 2);
    if (sum !== String(crc32(text))) throw new CheckpointUnusable('the index is damaged');
    return JSON.parse(text) as unknown;
  }

  /**
   * Replaces the index, then removes the files that it does not name. Durable when it resolves.
   * @param named files that remain
   */
  async saveIndex(index: unknown, named: ReadonlySet<string>): Promise<void> {
    const text = JSON.stringify(index);
    await this.#replace(
      INDEX,
      async (file) => void (await file.write(`${crc32(text)}\n${text}\n`)),
    );
    for (const name of await readdir(this.#folder)) {
      if (name !== INDEX && !named.has(name)) await rm(join(this.#folder, name), { force: true });
    }
  }

  /** Writes a file of blocks, each packed by itself. Durable when it resolves. */
  async write(name: string, blocks: Iterable<Uint8Array>): Promise<void> {
    makeFolder(this.#folder, 0o700);
    await this.#replace(name, async (file) => {
      let count = 0;
      for (const block of blocks) {
        const packed = await pack(block, PACK_OPTIONS);
        await file.write(Buffer.concat([frame(packed.length, crc32(packed)), packed]));
        count++;
      }
      await file.write(frame(0, count));
    });
  }

  /** The blocks of a file, in order. Rejects with `CheckpointUnusable`, or an error of the disk. */
  async *read(name: string): AsyncGenerator<Uint8Array> {
    const bytes = await this.#contents(name);
    if (bytes === undefined) throw new CheckpointUnusable(`${name} is missing`);
    let count = 0;
    for (let at = 0; ; count++) {
      if (at + FRAME_BYTES > bytes.length) throw new CheckpointUnusable(`${name} has no end`);
      const length = bytes.readUInt32LE(at);
      const sum = bytes.readUInt32LE(at + 4);
      at += FRAME_BYTES;
      if (length === 0) {
        if (sum === count) return;
        throw new CheckpointUnusable(`${name} lacks blocks`);
      }
      const packed = bytes.subarray(at, at + length);
      at += length;
      if (crc32(packed) !== sum) throw new CheckpointUnusable(`${name} is damaged`);
      yield await unpack(packed, { maxOutputLength: BLOCK_BYTES_MAX });
    }
  }

  async #contents(name: string): Promise<Buffer | undefined> {
    try {
      const bytes = await readFile(join(this.#folder, name));
      if (name !== INDEX || bytes.length <= INDEX_BYTES_MAX) return bytes;
      throw new CheckpointUnusable('the index is too large');
    } catch (error) {
      if ((error as { code?: string }).code === 'ENOENT') return undefined;
      throw error;
    }
  }

  async #replace(name: string, write: (file: FileHandle) => Promise<void>): Promise<void> {
    const path = join(this.#folder, name);
    const file = await open(path + PARTIAL, 'w', 0o600);
    try {
      await write(file);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(path + PARTIAL, path);
    await this.#syncFolder();
  }

  /** The new name is durable, too. */
  async #syncFolder(): Promise<void> {
    const folder = await open(this.#folder, 'r');
    try {
      await folder.sync();
    } finally {
      await folder.close();
    }
  }
}

function frame(length: number, sum: number): Buffer {
  const bytes = Buffer.alloc(FRAME_BYTES);
  bytes.writeUInt32LE(length, 0);
  bytes.writeUInt32LE(sum, 4);
  return bytes;
}
