/**
 * `npm run voice [-- ROOM | --record]`: counts the sentences that a reader would stumble over, by room
 * and beside their limits; lists those of a room; or lowers the limits to the counts.
 */
import {
  countsOf,
  lowered,
  readFindings,
  readLimits,
  roomOf,
  writeLimits,
} from './voice/ratchet.ts';

const folder = process.cwd();
const [wanted] = process.argv.slice(2);
const findings = readFindings(folder);
const limits = readLimits(folder);
if (wanted === '--record') {
  writeLimits(folder, lowered(limits, countsOf(findings)));
} else if (wanted !== undefined) {
  for (const { path, sentence, pattern } of findings) {
    if (roomOf(path) === wanted) process.stdout.write(`${path}: ${pattern.name}: ${sentence}\n`);
  }
} else {
  for (const [room, count] of countsOf(findings)) {
    process.stdout.write(`${String(count).padStart(5)} of ${limits[room] ?? 0}  ${room}\n`);
  }
  process.stdout.write(`${findings.length} in all\n`);
}
