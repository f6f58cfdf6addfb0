/**
 * What lies sealed though no destination refers to it: a process that dies between a commit and
 * what follows it (an address or a secret that was replaced, a deletion, a change never committed)
 * leaves it behind. Looked for at the start, once the host knows all commits.
 */
import type { Clock } from '../../streams/platform/clock.ts';
import { allInstances } from '../alerting/rule-markers.ts';
import type { Host } from '../platform/host/host-port.ts';
import { destinationOf, forget } from './destination-rows.ts';
import { type ListedValues, urlIdOf } from './sealed-values.ts';

/** What is younger may be of a change whose commit is on its way still, ms. */
const ORPHAN_AGE_MS = 3_600_000;
/** Of our ids; the ULID begins with the time, in ten characters of Crockford's base 32. */
const ID = /^(?:url|whs|dst)_([0-9A-HJKMNP-TV-Z]{10})[0-9A-HJKMNP-TV-Z]{16}(?:\/url)?$/;
const DIGITS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/**
 * Forgets them. Nothing where no destination is known at all: then it may be the log that is lost,
 * and the values are what is left.
 *
 * @returns how many were forgotten
 */
export function forgetOrphans({
  host,
  clock,
  sealed,
}: {
  readonly host: Pick<Host, 'projects' | 'view'>;
  readonly clock: Pick<Clock, 'now'>;
  readonly sealed: ListedValues;
}): number {
  const rows = host.projects().flatMap((project) => {
    return allInstances(host.view(project), 'destination');
  });
  if (rows.length === 0) return 0;
  const used = new Set(
    rows.flatMap((row) => {
      const context = destinationOf(row);
      return [urlIdOf(row.instance, context), ...context.secrets.map(({ id }) => id)];
    }),
  );
  const beforeMs = clock.now() - ORPHAN_AGE_MS;
  const orphans = sealed.ids().filter((id) => !used.has(id) && madeMs(id) < beforeMs);
  forget(sealed, orphans);
  return orphans.length;
}

/** Unix ms; Infinity for an id of another form, which is left alone. */
function madeMs(id: string): number {
  const time = ID.exec(id)?.[1];
  if (time === undefined) return Infinity;
  return [...time].reduce((ms, digit) => ms * 32 + DIGITS.indexOf(digit), 0);
}
