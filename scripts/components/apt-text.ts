/** Parsed output of apt's programs: the mirror of this machine, and the versions of a package. */

/**
 * Address of the Debian mirror that this machine uses, from the output of `apt-get indextargets`.
 * Undefined if none is configured: the machine runs another system, or installs from a disc.
 */
export function mirrorOf(indexTargets: string): string | undefined {
  const targets = indexTargets.split(/\n\n+/).map(fieldsOf);
  const ofDebian = targets.find(
    (target) =>
      target.get('Origin') === 'Debian' &&
      target.get('Label') === 'Debian' &&
      target.get('Created-By') === 'Packages' &&
      target.get('Component') === 'main' &&
      /^(https?|mirror\S*|file|tor\S*):/.test(target.get('Repo-URI') ?? ''),
  );
  return ofDebian?.get('Repo-URI');
}

function fieldsOf(paragraph: string): Map<string, string> {
  return new Map(
    paragraph.split('\n').flatMap((line) => {
      const colon = line.indexOf(': ');
      return colon < 0 ? [] : [[line.slice(0, colon), line.slice(colon + 2).trim()] as const];
    }),
  );
}

/** Versions of a package, newest first, from the output of `apt-cache madison PACKAGE`. */
export function versionsOf(madison: string): string[] {
  const lines = madison.split('\n').map((line) => line.split('|').map((field) => field.trim()));
  return lines.flatMap(([, version, place = '']) =>
    version === undefined || place.endsWith(' Sources') ? [] : [version],
  );
}

/**
 * The version to install: the newest build of `wanted`, otherwise the newest of all. Undefined if
 * the suite has none.
 */
export function chooseVersion(versions: readonly string[], wanted?: string): string | undefined {
  return versions.find((version) => upstreamOf(version) === wanted) ?? versions[0];
}

/**
 * The version of the program in a version of Debian's package, e.g. 3.5.3 in `1:3.5.3+ds1-6`: without
 * epoch, repackaging and revision (deb-version(7)).
 */
export function upstreamOf(version: string): string {
  return version
    .replace(/^\d+:/, '')
    .replace(/-[^-]*$/, '')
    .replace(/[+~](ds|dfsg).*$/, '');
}

/** Real packages that a package depends on, from the output of `apt-cache depends PACKAGE`. */
export function dependenciesOf(depends: string): string[] {
  return [...depends.matchAll(/^\s+(?:Pre)?Depends: ([^<\s]+)$/gm)].map(([, name = '']) => name);
}
