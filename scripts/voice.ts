/**
 * `npm run voice [-- ROOM | --record]`: counts the sentences that a reader would stumble over, by room
 * and beside their limits; lists those of a room; or lowers the limits to the counts.
 */
import './closed-output.ts';
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
const text = (lines: readonly string[]) => `${lines.join('\n')}\n`;
if (wanted === '--record') {
  writeLimits(folder, lowered(limits, countsOf(findings)));
} else if (wanted !== undefined) {
  const ofRoom = findings.filter(({ path }) => roomOf(path) === wanted);
  const lines = ofRoom.map(
    ({ path, sentence, pattern }) => `${path}: ${pattern.name}: ${sentence}`,
  );
  process.stdout.write(text(lines));
} else {
  const lines = [...countsOf(findings)].map(([room, count]) => {
    return `${String(count).padStart(5)} of ${limits[room] ?? 0}  ${room}`;
  });
  process.stdout.write(text([...lines, `${findings.length} in all`]));
}
