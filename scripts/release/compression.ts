/** How the products of a release are compressed. */
export interface Compression {
  /** Program that `tar` calls. */
  readonly archive: string;
  /** Options of `dpkg-deb`. */
  readonly debian: readonly string[];
}

export const COMPRESSION = {
  release: { archive: 'gzip -n', debian: ['-Zxz', '-z1'] },
  /** For tests: a tenth of the time, and more than twice the size. */
  fast: { archive: 'gzip -n -1', debian: ['-Znone'] },
} as const satisfies Readonly<Record<string, Compression>>;
