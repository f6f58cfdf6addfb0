/**
 * Checks that the three systems return the same results: otherwise a table of times means nothing.
 * Prometheus is the reference; VictoriaMetrics may differ where MetricsQL extrapolates otherwise.
 */
import type { Read } from './expressions.ts';
import type { RunningSystem } from './systems.ts';

const TOLERANCE = 1e-9;

/** One line per read: how each system's result compares with that of Prometheus. */
export async function sameAnswers(systems: readonly RunningSystem[], reads: readonly Read[]) {
  const lines = [];
  for (const read of reads) {
    const answers = new Map<string, Answer>();
    for (const system of systems) answers.set(system.name, await answerOf(system, read));
    const reference: Answer = answers.get('Prometheus') ?? new Map();
    lines.push({
      read: read.name,
      series: reference.size,
      values: [...reference.values()].reduce((sum, values) => sum + values.length / 2, 0),
      ours: difference(answers.get('ours') ?? new Map(), reference),
      VictoriaMetrics: difference(answers.get('VictoriaMetrics') ?? new Map(), reference),
    });
  }
  return lines;
}

/** Alternating times and values by series; only names for metadata. */
type Answer = ReadonlyMap<string, readonly number[]>;

async function answerOf(system: RunningSystem, read: Read): Promise<Answer> {
  const answer = await fetch(system.origin + system.urlOf(read), { headers: system.headers });
  const { data } = (await answer.json()) as { data: unknown };
  if (Array.isArray(data)) return new Map(data.map((item) => [keyOf(item), []]));
  const { result } = data as { result: ResultItem[] };
  return new Map(
    result.map(({ metric, value, values }) => {
      const points = values ?? (value ? [value] : []);
      return [keyOf(metric), points.flatMap(([time, text]) => [time, Number(text)])];
    }),
  );
}

interface ResultItem {
  readonly metric: Record<string, string>;
  readonly value?: [number, string];
  readonly values?: [number, string][];
}

function keyOf(item: unknown): string {
  if (typeof item !== 'object' || item === null) return String(item);
  return JSON.stringify(Object.entries(item).sort(([a], [b]) => (a < b ? -1 : 1)));
}

function difference(answer: Answer, reference: Answer): string {
  if (answer.size !== reference.size) return `${answer.size} series`;
  let worst = 0;
  for (const [key, expected] of reference) {
    const values = answer.get(key);
    if (values?.length !== expected.length) return `other values: ${values?.length ?? 'no series'}`;
    for (const [i, value] of values.entries()) {
      const other = expected[i] ?? Number.NaN;
      const scale = Math.abs(value) + Math.abs(other);
      if (scale > 0) worst = Math.max(worst, Math.abs(value - other) / scale);
    }
  }
  return worst <= TOLERANCE ? 'same' : `differs by ${worst.toExponential(1)}`;
}
