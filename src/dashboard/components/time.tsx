/**
 * Times and ages. A time is local with its zone, or UTC if the user chose so; the tooltip shows
 * both to the millisecond. Ages use the server's clock.
 */
import type { VNode } from 'preact';
import { nowMs } from '../data/clock.ts';
import { format } from '../data/preferences.ts';
import { texts } from '../messages/en.ts';
import { formatAge, formatAhead, formatExactTime, formatTime } from '../messages/format.ts';

/** Unix seconds as sent by the API; undefined if absent. */
type UnixText = string | undefined;

/** Converts the API's Unix seconds to ms; undefined if absent. */
export function msOf(unix: UnixText): number | undefined {
  return unix === undefined ? undefined : Number(unix) * 1_000;
}

/** A time, Unix ms: `12:03:10 CET`, with the date if it is not today. */
export function Time({ ms }: { readonly ms: number }): VNode {
  return (
    <time class="time" dateTime={new Date(ms).toISOString()} title={exact(ms)}>
      {formatTime(ms, nowMs.peek(), format.value)}
    </time>
  );
}

/** Relative time: `5 min ago`. If absent: `never`, or the text in `absent`. */
export function Age(props: { readonly ms: number | undefined; readonly absent?: string }): VNode {
  const { ms, absent = texts.never } = props;
  if (ms === undefined) return <span class="weak">{absent}</span>;
  return (
    <time class="time" dateTime={new Date(ms).toISOString()} title={exact(ms)}>
      {ageText(ms, nowMs.value)}
    </time>
  );
}

/** `45 s ago`, `in 5 min`, `just now`. */
export function ageText(ms: number, now: number): string {
  const difference = now - ms;
  if (Math.abs(difference) < 1_000) return texts.justNow;
  return difference > 0 ? texts.ago(formatAge(difference)) : texts.ahead(formatAhead(-difference));
}

function exact(ms: number): string {
  return formatExactTime(ms, format.value);
}
