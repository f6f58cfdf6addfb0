/**
 * An archive in cpio's "new ASCII" format, which the Linux kernel unpacks as its first root folder
 * (Documentation/driver-api/early-userspace/buffer-format.rst). Written by hand, so that a machine
 * without the program `cpio` can create one, and everything in it belongs to root.
 */
export interface InArchive {
  /** Path from the root, without a leading `/`. Follows the entries of its parent folders. */
  readonly path: string;
  /** Permissions. */
  readonly mode: number;
  /** Content of a file; absent: a folder. */
  readonly content?: Uint8Array;
}

const FOLDER = 0o040_000;
const FILE = 0o100_000;
/** Name of the last entry that the kernel reads. */
const LAST = 'TRAILER!!!';

/** Archive of these entries, in their order. */
export function archiveOf(entries: readonly InArchive[]): Buffer {
  const numbered = entries.map((entry, i) => entryOf(entry, i + 1));
  return Buffer.concat([
    ...numbered,
    entryOf({ path: LAST, mode: 0, content: Buffer.alloc(0) }, 0),
  ]);
}

function entryOf({ path, mode, content }: InArchive, inode: number): Buffer {
  const name = Buffer.from(`${path}\0`);
  const kind = content === undefined ? FOLDER : FILE;
  const fields = [
    inode,
    path === LAST ? 0 : kind + mode,
    0, // user
    0, // group
    1, // links
    0, // time
    content?.length ?? 0,
    0,
    0, // device of the file system
    0,
    0, // device number of a device file
    name.length,
    0, // checksum, unused in this format
  ];
  const header = `070701${fields.map((value) => value.toString(16).padStart(8, '0')).join('')}`;
  return Buffer.concat([
    padded(Buffer.concat([Buffer.from(header), name])),
    padded(content ?? Buffer.alloc(0)),
  ]);
}

/** Pads the name and the content to a multiple of four bytes. */
function padded(bytes: Uint8Array): Buffer {
  return Buffer.concat([bytes, Buffer.alloc((4 - (bytes.length % 4)) % 4)]);
}
