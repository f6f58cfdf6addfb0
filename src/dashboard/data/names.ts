/** Parts of resource names, and times as requests take them. */

/** The last part of a resource name: `projects/p/vms/v` gives `v`. */
export function idOf(name: string): string {
  return name.slice(name.lastIndexOf('/') + 1);
}

/** Whole Unix seconds as the API takes them: a decimal string. */
export function unixOf(ms: number): string {
  return String(Math.floor(ms / 1_000));
}
