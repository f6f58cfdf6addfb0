/** `Retry-After` (RFC 9110, section 10.2.3): how long an endpoint asks to be left alone. */

const SECONDS = /^\d{1,8}$/;
/** The three forms of section 5.6.7, of which the first is what servers send today. */
const DATES = [
  /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/,
  /^[A-Z][a-z]{5,8}, \d{2}-[A-Z][a-z]{2}-\d{2} \d{2}:\d{2}:\d{2} GMT$/,
  /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2} \d{4}$/,
];

/**
 * The wait in ms, never negative; undefined where the header is absent or is neither. A date is
 * counted from the answer's own `Date` where it has one, because the endpoint's clock is the one
 * that it speaks of; else from `nowMs`.
 */
export function parseRetryAfter(
  value: string | undefined,
  { date, nowMs }: { readonly date?: string | undefined; readonly nowMs: number },
): number | undefined {
  const text = value?.trim() ?? '';
  if (SECONDS.test(text)) return Number(text) * 1000;
  const untilMs = parseDate(text);
  if (untilMs === undefined) return undefined;
  return Math.max(0, untilMs - (parseDate(date?.trim() ?? '') ?? nowMs));
}

function parseDate(text: string): number | undefined {
  if (!DATES.some((form) => form.test(text))) return undefined;
  // The asctime form names no zone, and means GMT as the others.
  const ms = Date.parse(text.endsWith('GMT') ? text : `${text} GMT`);
  return Number.isNaN(ms) ? undefined : ms;
}
