/** Parts of resource names, and times in the format of requests. */

/** The last part of a resource name: `projects/p/vms/v` gives `v`. */
export function idOf(name: string): string {
  return name.slice(name.lastIndexOf('/') + 1);
}

/** Whole Unix seconds in the API's format: a decimal string. */
export function unixOf(ms: number): string {
  return String(Math.floor(ms / 1_000));
}
