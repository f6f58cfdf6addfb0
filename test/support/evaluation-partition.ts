/**
 * Arbitrary logs of a whole partition for property tests: several projects, VMs in data centers that
 * report, breach, fall silent and stop; rows that are late, duplicated or contradicted; ticks of
 * several leases; markers with rules, quotas and retirements; clocks that are set back.
 *
 * A log is made of steps, each of which has numbers of its own, so that a failing one shrinks.
 */
import fc from 'fast-check';
import type { EvaluationSeed } from '../../streams/alerting/evaluation/state.ts';
import type { EvaluationRule, LogEntry, Outage } from '../../streams/telemetry/entry.ts';
import { BatchBuilder, type Row, VM_STATES } from '../../streams/telemetry/samples/batch.ts';
import { START_MS } from './evaluation-scenario.ts';

export interface Partition {
  readonly seed: EvaluationSeed;
  readonly log: readonly LogEntry[];
}

const PROJECTS = ['demo', 'other'] as const;
const VMS = ['vm-1', 'vm-2', 'vm-3', 'vm-4'] as const;
const DATACENTERS = ['dc-1', 'dc-2'] as const;

type Kind =
  | 'round'
  | 'mood'
  | 'silence'
  | 'rule'
  | 'remove'
  | 'limit'
  | 'retire'
  | 'boot'
  | 'clock'
  | 'lease'
  | 'stale'
  | 'again'
  | 'gap';

interface Step {
  readonly kind: Kind;
  /** Choose the subject of the step, its variant and its extent. */
  readonly which: number;
  readonly how: number;
  readonly much: number;
}

const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.oneof(
    { weight: 24, arbitrary: fc.constant<Kind>('round') },
    { weight: 6, arbitrary: fc.constant<Kind>('mood') },
    { weight: 2, arbitrary: fc.constant<Kind>('silence') },
    { weight: 2, arbitrary: fc.constant<Kind>('rule') },
    {
      weight: 5,
      arbitrary: fc.constantFrom<Kind>(
        'remove',
        'limit',
        'retire',
        'boot',
        'clock',
        'clock',
        'lease',
        'stale',
        'stale',
        'again',
        'gap',
      ),
    },
  ),
  which: fc.nat(1_000),
  how: fc.nat(1_000),
  much: fc.nat(1_000),
});

const FIRST: Step = { kind: 'round', which: 0, how: 1, much: 0 };

/** Any log of a partition, with at most `steps` steps. */
export function partitions(steps = 90): fc.Arbitrary<Partition> {
  return fc.array(step, { minLength: 1, maxLength: steps, size: 'max' }).map((all) => {
    const writer = new PartitionWriter();
    for (const each of [FIRST, ...all]) writer.take(each);
    return { seed: seedOf(), log: writer.log };
  });
}

type Rule = Omit<EvaluationRule, 'project' | 'evaluationRevision'>;

const usual = {
  operator: 'GREATER_THAN',
  threshold: 80,
  sustainedMs: 60_000,
  recoveryMs: 0,
} as const;

/** The rules that markers can name, in each project. */
const RULES: readonly Rule[] = [
  { ...usual, rule: 'cpu', metricId: 'cpu_utilization_pct', sustainedMs: 120_000 },
  {
    ...usual,
    rule: 'cpu-slow',
    metricId: 'cpu_utilization_pct',
    recoveryThreshold: 50,
    recoveryMs: 60_000,
    sustainedMs: 600_000,
  },
  { ...usual, rule: 'memory', metricId: 'memory_used_pct', vms: ['vm-1', 'vm-3'] },
  { ...usual, rule: 'mount', metricId: 'filesystem_used_pct', sustainedMs: 0 },
  { ...usual, rule: 'age', metricId: 'telemetry_age_seconds', threshold: 60 },
  {
    ...usual,
    rule: 'age-slow',
    metricId: 'telemetry_age_seconds',
    threshold: 120,
    recoveryMs: 60_000,
    vms: ['vm-1', 'vm-2'],
  },
  { ...usual, rule: 'stopped', metricId: 'unexpected_stop', threshold: 0, sustainedMs: 0 },
  { ...usual, rule: 'disk', metricId: 'disk_read_bytes_per_second', threshold: 1e6 },
  // An operator of another version, which is stored as text: the rule cannot be evaluated.
  { ...usual, rule: 'broken', metricId: 'cpu_utilization_pct', operator: 'IS_ODD' as 'EQUAL' },
];

/** Rules at the log's start, incidents of rows, and VMs that the log does not know. */
function seedOf(): EvaluationSeed {
  const rules = PROJECTS.flatMap((project) =>
    RULES.slice(0, 5).map((rule) => ({ ...rule, project, evaluationRevision: 1 })),
  );
  const key = { evaluationRevision: 1, labels: '' };
  const [project] = PROJECTS;
  return {
    rules,
    limits: [{ project, instances: 40 }],
    retired: [{ project, vm: 'vm-4', generation: 1, atMs: START_MS - 86_400_000 }],
    observed: [
      { project, vm: 'vm-5', observedMs: START_MS - 120_000, datacenter: 'dc-1' },
      { project, vm: 'vm-6', observedMs: START_MS - 90_000, power: 'STOPPED' },
    ],
    firing: [
      {
        key: { ...key, project, rule: 'cpu', vm: 'vm-1' },
        startedMs: START_MS - 600_000,
        firedMs: START_MS - 480_000,
        decidedThrough: START_MS + 300_000,
        dataMissing: true,
        missingReason: 'NO_DATA',
      },
      {
        key: { ...key, project, rule: 'age', vm: 'vm-5' },
        startedMs: START_MS - 60_000,
        decidedThrough: START_MS + 900_000,
        dataMissing: false,
      },
      {
        key: { ...key, project, rule: 'memory', evaluationRevision: 3, vm: 'vm-3' },
        startedMs: START_MS - 60_000,
        recoveredMs: START_MS,
        dataMissing: false,
        corrected: true,
      },
    ],
  };
}

type Mood = 'good' | 'breach' | 'middle' | 'silent' | 'stopped' | 'crashed' | 'ahead' | 'bare';
const MOODS: readonly Mood[] = [
  'breach',
  'good',
  'breach',
  'middle',
  'silent',
  'stopped',
  'crashed',
  'ahead',
  'bare',
];

interface FleetVm {
  readonly project: string;
  readonly vm: string;
  readonly datacenter: string;
  mood: Mood;
  boots: number;
  sequence: number;
  readBytes: number;
  generation: number;
}

interface LateRow {
  readonly dueMs: number;
  readonly row: Row;
}

class PartitionWriter {
  readonly log: LogEntry[] = [];
  #nowMs = START_MS;
  #epoch = 1;
  #revision = 2;
  readonly #vms: FleetVm[] = PROJECTS.flatMap((project) =>
    VMS.map((vm, i) => ({
      project,
      vm,
      datacenter: pick(DATACENTERS, i),
      mood: 'good',
      boots: 1,
      sequence: 0,
      readBytes: 0,
      generation: i === 3 && project === 'demo' ? 1 : 0,
    })),
  );
  #late: LateRow[] = [];
  readonly #outages = new Map<string, Outage>();
  #isPlaced = false;

  take({ kind, which, how, much }: Step): void {
    const vm = pick(this.#vms, which);
    switch (kind) {
      case 'round':
        this.#round(which, how, much);
        return;
      case 'mood':
        vm.mood = pick(MOODS, how);
        return;
      case 'silence':
        this.#silence(pick(DATACENTERS, which), how % 2 === 0);
        return;
      case 'rule':
        this.#change(pick(RULES, which), pick(PROJECTS, how), much);
        return;
      case 'remove': {
        const { rule } = pick(RULES, which);
        const last = much % 2 === 0 ? {} : { evaluationRevision: this.#revision };
        this.#mark({ removals: [{ project: pick(PROJECTS, how), rule, ...last }] });
        return;
      }
      case 'limit':
        this.#mark({
          limits: [{ project: pick(PROJECTS, which), instances: pick([0, 3, 8, 100], how) }],
        });
        return;
      case 'retire': {
        const { project, vm: id } = vm;
        vm.generation++;
        const retired = { project, vm: id, generation: vm.generation, atMs: this.#nowMs };
        this.#mark({ retired: [retired] });
        return;
      }
      case 'boot':
        vm.boots++;
        vm.sequence = 0;
        vm.readBytes = 0;
        return;
      case 'clock':
        this.#nowMs += pick([-3_600_000, -95_000, -61_000, 95_000], how);
        if (much % 2 === 0) this.#tick(how + which);
        return;
      case 'lease':
        this.#epoch += which % 3;
        return;
      case 'stale':
        this.#stale(pick(RULES, which), pick(PROJECTS, how));
        return;
      case 'again':
        this.#again(which, how % 2 === 0);
        return;
      case 'gap':
        this.#nowMs += pick([60_000, 100_000, 400_000, 4_000_000, 90_000_000], how);
        return;
    }
  }

  /** Half a minute: a tick, and the rows of all VMs in one batch or several. */
  #round(which: number, how: number, much: number): void {
    this.#nowMs += pick([30_000, 30_000, 30_000, 29_500, 45_000], which);
    if (how % 7 !== 0) this.#tick(how);
    const rows: Row[] = [];
    for (const [i, vm] of this.#vms.entries()) {
      const row = this.#rowOf(vm, (which * 31 + how * 17 + much * 7 + i * 13) % 1_000);
      if (!row) continue;
      const delayMs = pick(
        [0, 0, 0, 0, 0, 31_000, 95_000, 200_000, 290_000, 400_000],
        much + i * i,
      );
      if (delayMs === 0) rows.push(row);
      else this.#late.push({ dueMs: this.#nowMs + delayMs, row });
    }
    const due = this.#late.filter(({ dueMs }) => dueMs <= this.#nowMs);
    this.#late = this.#late.filter(({ dueMs }) => dueMs > this.#nowMs);
    rows.push(...due.map(({ row }) => row));
    if (much % 3 === 0) rows.reverse();
    const size = much % 4 === 0 ? 1 : rows.length;
    for (let i = 0; i < rows.length; i += size) this.#batch(rows.slice(i, i + size));
  }

  #rowOf(vm: FleetVm, chance: number): Row | undefined {
    const { project, mood } = vm;
    vm.sequence++;
    vm.readBytes += mood === 'breach' ? 60e6 : 1e6;
    if (mood === 'silent' || chance % 23 === 0) return undefined;
    const isDown = mood === 'stopped' || mood === 'crashed';
    const level = { breach: 95, middle: 60, good: 10 }[mood as 'good'] ?? 20;
    const readings = isDown ? {} : readingsOf(level, chance, vm.readBytes, mood === 'bare');
    const state = isDown ? 'STOPPED' : chance % 5 === 0 ? 'UNKNOWN' : 'RUNNING';
    return {
      project,
      vm: vm.vm,
      observedMs: this.#nowMs - (chance % 4) * 500 + (mood === 'ahead' ? 70_000 : 0),
      sequence: vm.sequence,
      boot: chance % 41 === 0 ? '' : `boot-${vm.boots}`,
      vcpus: pick([2, 2, 2, 2, 4, Number.NaN], chance),
      state: VM_STATES.indexOf(state),
      stateReason: mood === 'stopped' ? 'shutdown' : mood === 'crashed' ? 'crashed' : '',
      series: Object.keys(readings),
      values: Object.values(readings),
    };
  }

  /** A whole data center falls silent, or all of its VMs are back. */
  #silence(datacenter: string, isBack: boolean): void {
    for (const vm of this.#vms) {
      if (vm.datacenter === datacenter) vm.mood = isBack ? 'good' : 'silent';
    }
    if (isBack) this.#outages.delete(datacenter);
    else this.#outages.set(datacenter, { datacenter, sinceMs: this.#nowMs - 60_000 });
  }

  #change(rule: Rule, project: string, much: number): void {
    const evaluationRevision = much % 5 === 0 ? this.#revision : ++this.#revision;
    const sustainedMs = pick([0, 60_000, 120_000, 300_000], much);
    const resumed = much % 7 === 0 ? { fromMs: this.#nowMs - 30_000 } : {};
    this.#mark({ upserts: [{ ...rule, project, evaluationRevision, sustainedMs, ...resumed }] });
  }

  /** A batch is received again, with the same readings or with others. */
  #again(which: number, isOther: boolean): void {
    const batches = this.log.flatMap((entry) => (entry.kind === 'batch' ? [entry.batch] : []));
    const batch = batches.at(-1 - (which % 12));
    if (!batch) return;
    const values = batch.values.map((value) => (isOther && value === 95 ? 20 : value));
    this.log.push({ kind: 'batch', batch: { ...batch, values, receivedMs: this.#nowMs } });
  }

  #batch(rows: readonly Row[]): void {
    const builder = new BatchBuilder();
    for (const row of rows) builder.add(row);
    this.log.push({ kind: 'batch', batch: builder.build(this.#nowMs) });
  }

  /** A member whose lease has ended removes a rule. */
  #stale({ rule }: Rule, project: string): void {
    const epoch = this.#epoch - 1;
    this.#mark({ epoch, removals: [{ project, rule }] });
  }

  /** A tick, which usually has a report. */
  #tick(how: number): void {
    const tick = { kind: 'tick', atMs: this.#nowMs, epoch: this.#epoch } as const;
    if (how % 4 === 3) {
      this.log.push(tick);
      return;
    }
    const placed = this.#isPlaced ? [] : this.#vms;
    this.#isPlaced = true;
    const livenessReport = {
      outages: [...this.#outages.values()],
      placed: placed.map(({ project, vm, datacenter }) => ({ project, vm, datacenter })),
      clockAhead: this.#vms.filter(({ mood }) => mood === 'ahead'),
    };
    this.log.push({ ...tick, livenessReport });
  }

  #mark(change: Partial<Extract<LogEntry, { kind: 'rules' }>>): void {
    const epoch = this.#epoch;
    this.log.push({
      kind: 'rules',
      atMs: this.#nowMs,
      epoch,
      upserts: [],
      removals: [],
      ...change,
    });
  }
}

function readingsOf(level: number, chance: number, readBytes: number, isBare: boolean) {
  const mount = (name: string, used: number): Record<string, number> => ({
    [`svc_vm_filesystem_size_bytes{mountpoint="${name}"}`]: 100,
    [`svc_vm_filesystem_used_bytes{mountpoint="${name}"}`]: used,
  });
  return {
    ...(chance % 3 > 0 && { svc_vm_cpu_utilization_pct: level }),
    ...(!isBare && {
      svc_vm_memory_total_bytes: 1000,
      svc_vm_memory_free_bytes: 1000 - level * 10,
    }),
    ...mount('/', level),
    ...(chance % 4 > 0 && mount('/data', chance % 100)),
    'svc_vm_disk_read_bytes_total{device="vda"}': readBytes,
    ...(chance % 6 > 0 && { 'svc_vm_disk_read_bytes_total{device="vdb"}': 5 }),
  };
}

function pick<T>(list: readonly T[], number: number): T {
  return list[number % list.length] as T;
}
