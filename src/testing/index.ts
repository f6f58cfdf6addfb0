/**
 * `svc/testing`: replays for tests of other projects. The input is a recording or a CSV, and the
 * rules to save. The output is the incidents and notifications that they would have caused. It uses
 * the live pipelines under a virtual clock: weeks take less than a second, and nothing is sent.
 *
 *     const result = await replayRecording({
 *       recording: readRecording('outage.csv'),
 *       rules: parseRules(readFileSync('rules.json', 'utf8')),
 *     });
 *     assert.equal(reportText(result), readFileSync('outage.expected', 'utf8'));
 */

export {
  formatRecording,
  MalformedRecording,
  parseRecording,
} from '../../streams/alerting/recording.ts';
export { type CsvOptions, parseCsv, UnreadableRecording } from '../replay/csv.ts';
export { type Recording, readRecording } from '../replay/recordings.ts';
export { type ReplayOptions, type ReplayResult, replayRecording } from '../replay/replay.ts';
export type { ReplayedDelivery, ReplayedIncident } from '../replay/replayed.ts';
export { reportDifference, reportText } from '../replay/report.ts';
export { parseRules, UnusableRules } from '../replay/rules-file.ts';
