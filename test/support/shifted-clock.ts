/**
 * Shifts the calendar clock of a process by SHIFTED_CLOCK_MS, as on a machine without NTP: `node
 * --import ./shifted-clock.ts PROGRAM`.
 */
const shiftMs = Number(process.env.SHIFTED_CLOCK_MS ?? 0);
const now = Date.now;
Date.now = () => now() + shiftMs;
