/**
 * An archive in cpio's "new ASCII" format, which the Linux kernel unpacks as its first root folder
 * (Documentation/driver-api/early-userspace/buffer-format.rst). It is written here because a machine
 * without the program `cpio` can then make one, and everything in it belongs to root.
 */
export interface InArchive {
  /** From the root, without a leading `/`; after the folders that hold it. */
  readonly path: string;
  /** Permissions. */
  readonly mode: number;
  /** Absent: a folder. */
  readonly content?: Uint8Array;
}

const FOLDER = 0o040_000;
const FILE = 0o100_000;
/** The kernel reads up to an entry of this name. */
const LAST = 'TRAILER!!!';

/** The archive of these entries, in their order. */
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
    ...[0, 0], // device of the file system
    ...[0, 0], // device that it is
    name.length,
    0, // checksum, unused in this format
  ];
  const header = `070701${fields.map((value) => value.toString(16).padStart(8, '0')).join('')}`;
  return Buffer.concat([
    padded(Buffer.concat([Buffer.from(header), name])),
    padded(content ?? Buffer.alloc(0)),
  ]);
}

/** Both the name and the content end at a multiple of four bytes. */
function padded(bytes: Uint8Array): Buffer {
  return Buffer.concat([bytes, Buffer.alloc((4 - (bytes.length % 4)) % 4)]);
}
