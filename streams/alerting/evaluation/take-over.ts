/**
 * Taking over what rows have decided. A state rebuilt from a log does the log's part silently, for
 * all of it was told, until the log has come past an instance's last decision; from there on the
 * row says what was told. Where the log no longer reaches back to a firing, the row says that, too.
 */
import { type DecidedIncident, decidedThroughMs, type Instance, type Told } from './instance.ts';

/** The log has come past the row's last decision: what the row says is what was told. */
export function takeOver(instance: Instance): void {
  const { decided, current, settled } = instance;
  if (!decided) return;
  instance.decided = undefined;
  const { startedMs, firedMs = startedMs } = decided;
  const isAge = instance.lane.derivation.from === 'age';
  const recoveredMs = decided.recoveredMs ?? Number.POSITIVE_INFINITY;
  const before = instance.told?.incidents ?? [];
  const seen = before.filter((one) => one.firedMs <= recoveredMs && firedMs <= one.recoveredMs);
  // Only what this log itself shows to have fired can it show not to have fired after all.
  const isShown = isAge
    ? instance.lane.rows.some(({ row }) => row.observedMs <= firedMs)
    : seen.some((one) => one.firedMs === firedMs);
  const corrected = decided.corrected === true || !isShown;
  instance.told = {
    incidents: [
      ...before.filter((one) => one.recoveredMs < startedMs),
      { startedMs, firedMs, recoveredMs, corrected },
    ],
    lastAtMs: decidedThroughMs(decided),
    missing: missingOf(decided),
    failed: decided.evaluatorFailed === true,
  };
  const isOpen = decided.recoveredMs === undefined && decided.corrected !== true;
  // Telemetry fires by time: what its observations say follows from them alone.
  if (!isOpen || seen.length > 0 || isAge) return;
  for (const timeline of [settled, current]) {
    if (!timeline.firing) Object.assign(timeline, { firing: true, firedMs, startedMs });
  }
}

function missingOf({
  dataMissing,
  missingReason,
  missingSinceMs,
}: DecidedIncident): Told['missing'] {
  if (!dataMissing) return undefined;
  return {
    reason: missingReason ?? 'NO_DATA',
    sinceMs: missingSinceMs ?? Number.NEGATIVE_INFINITY,
  };
}
