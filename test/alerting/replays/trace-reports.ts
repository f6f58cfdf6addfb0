/**
 * Real VM traces against one set of rules: the incidents and notifications of each are a file in
 * test/alerting/replays/traces that a person can read and check (`grep` a VM, look at the trace's
 * own rows).
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  parseRules,
  type Recording,
  readRecording,
  replayRecording,
  reportDifference,
  reportText,
} from '../../../src/testing/index.ts';

const folder = fileURLToPath(new URL('./traces/', import.meta.url));
const CPU = { series: { value: 'svc_vm_cpu_utilization_pct' } };
/** All traces have a reading every five minutes. */
const INTERVAL_SECONDS = 300;

export interface TraceSet {
  /** Name of its report. */
  readonly name: string;
  /**
   * True if its replay takes about a second or less. Small sets are checked in every test run, the
   * others by `.ci/run`.
   */
  readonly isSmall: boolean;
  readonly recording: (traces: string) => Recording;
}

const bitbrains = (name: string): TraceSet => ({
  name: `bitbrains-${name}`, isSmall: false,
  recording: (traces) => readRecording(`${traces}/bitbrains-rnd/${name}`),
});

const nab = (file: string): TraceSet => ({
  name: `nab-${file.slice(file.indexOf('/') + 1)}`, isSmall: true,
  recording: (traces) => readRecording(`${traces}/nab/${file}.csv.gz`, CPU),
});

const planetlab = (day: string): TraceSet => ({
  name: `planetlab-${day}`, isSmall: false,
  recording: (traces) => readPlanetlab(`${traces}/planetlab/${day}.tar.gz`, day),
});

export const traceSets: readonly TraceSet[] = [
  bitbrains('2013-07-01_22d'),
  bitbrains('2013-08-01_20d'),
  bitbrains('2013-09-01_29d'),
  bitbrains('2013-07-14_8d'),
  bitbrains('2013-09-16_8d'),
  nab('realAWSCloudwatch/ec2_cpu_utilization_5f5533'),
  nab('realAWSCloudwatch/ec2_cpu_utilization_ac20cd'),
  nab('realAWSCloudwatch/rds_cpu_utilization_cc0c53'),
  nab('realKnownCause/cpu_utilization_asg_misconfiguration'),
  planetlab('20110411'),
  planetlab('20110412'),
];

/** First difference between the report and the stored file; '' if there is none. */
export async function checkTraces(set: TraceSet, traces: string): Promise<string> {
  return reportDifference(readFileSync(reportPath(set), 'utf8'), await reportOf(set, traces));
}

/** Stores the current report. */
export async function keepReport(set: TraceSet, traces: string): Promise<void> {
  writeFileSync(reportPath(set), await reportOf(set, traces));
}

async function reportOf(set: TraceSet, traces: string): Promise<string> {
  const rules = parseRules(readFileSync(join(folder, 'rules.json'), 'utf8'));
  const recording = set.recording(traces);
  return reportText(await replayRecording({ recording, rules, intervalSeconds: INTERVAL_SECONDS }));
}

function reportPath({ name }: TraceSet): string {
  return join(folder, `${name}.txt`);
}

/** One file per VM, one number per line, from midnight on: the trace has no times of its own. */
function readPlanetlab(archive: string, day: string): Recording {
  const unpacked = mkdtempSync(join(tmpdir(), 'svc-planetlab-'));
  try {
    execFileSync('tar', ['-xzf', archive, '-C', unpacked]);
    const files = execFileSync('tar', ['-tzf', archive], { encoding: 'utf8' }).trim().split('\n');
    const midnightMs = Date.parse(day.replace(/(....)(..)(..)/, '$1-$2-$3'));
    const rows = files
      .filter((file) => !file.endsWith('/'))
      .flatMap((file) => {
        const vm = file.slice(file.indexOf('/') + 1);
        const lines = readFileSync(join(unpacked, file), 'utf8').trim().split('\n');
        return lines.map((line, i) => ({
          vm, displayName: vm, bootId: '', sequence: i, stateReason: '',
          state: 'UNKNOWN' as const, observedMs: midnightMs + i * INTERVAL_SECONDS * 1000,
          values: [['svc_vm_cpu_utilization_pct', Number(line)]] as const,
        }));
      });
    return { kind: 'rows', rows: rows.toSorted((a, b) => a.observedMs - b.observedMs) };
  } finally {
    rmSync(unpacked, { recursive: true });
  }
}
