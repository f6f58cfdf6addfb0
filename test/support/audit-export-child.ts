/**
 * Exports the projection in argv[2] to the file in argv[3], with the cursor in argv[4], and reports
 * each batch, for tests that kill it halfway. The second batch never completes.
 */
import { CommitReader } from '../../sqlite/platform/control/commit-reader.ts';
import { AuditExport } from '../../src/audit/export/audit-export.ts';
import { cursorIn, fileSink } from '../../src/audit/open-audit.ts';
import { silentLog } from '../../src/platform/log.ts';
import { systemClock } from '../../streams/platform/clock.ts';

const [control = '', path = '', cursor = ''] = process.argv.slice(2);
const file = fileSink(path);
let batches = 0;
const exporter = new AuditExport({
  reader: new CommitReader(control),
  cursor: cursorIn(cursor),
  isRequired: false,
  clock: systemClock,
  log: silentLog,
  sink: {
    async append(lines) {
      batches++;
      // Half of the second batch reaches the disk, and its append is never answered.
      await file.append(batches === 1 ? lines : lines.slice(0, lines.length / 2));
      process.stdout.write(`batch ${batches}\n`);
      if (batches > 1) await new Promise(() => {});
    },
  },
});
await exporter.settled();
