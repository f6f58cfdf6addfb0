/**
 * Faults of the data folder as sentences for the operator. At startup the sentence is enough; a
 * stack trace adds nothing.
 */

/** The data folder, or a file in it, cannot be used; the message says what to do. */
export class DataFolderUnusable extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'DataFolderUnusable';
  }
}

/** Remedies by the code of the file system's or SQLite's error; the first match counts. */
const remedies: readonly (readonly [RegExp, string])[] = [
  [/^(ENOSPC|EDQUOT|SQLITE_FULL)/, 'the disk is full; free some space'],
  [/^SQLITE_(BUSY|LOCKED)/, 'another program holds a lock on it; stop that program'],
  [/^SQLITE_(CORRUPT|NOTADB)/, 'it is damaged; restore the data folder from a copy'],
  [/^(EIO|SQLITE_IOERR)/, 'reading or writing the disk failed; check the system’s log'],
  [
    /^(EACCES|EPERM|EROFS|ENOTDIR|EEXIST|SQLITE_(CANTOPEN|READONLY|PERM))/,
    'choose a folder that this user may write to',
  ],
];

/**
 * The error as `DataFolderUnusable` if it is a fault of files or databases, else unchanged. `path`
 * is the folder, or the file in it, that was in use, and `setting` names the folder.
 */
export function toDataFolderFault(error: unknown, path: string, setting = 'SVC_DATA'): unknown {
  if (!(error instanceof Error) || !('code' in error)) return error;
  const code = String(error.code);
  const remedy = remedies.find(([pattern]) => pattern.test(code))?.[1];
  if (remedy === undefined) return error;
  const message = `${setting} ${path} cannot be used: ${remedy} (${code}: ${error.message})`;
  return new DataFolderUnusable(message, { cause: error });
}
