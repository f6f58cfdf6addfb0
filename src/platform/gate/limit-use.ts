/**
 * The use of each limit of a project, read from the part that enforces it: for members
 * (`GetProjectLimits`), for the operator (`svc admin limits show`), and the page `docs/limits.md`.
 */
import type { EvaluatorView } from '../../../actors/alerting/evaluator/evaluator-port.ts';
import type { Host } from '../../../actors/platform/host/host-port.ts';
import {
  DEFAULT_LIMITS,
  LIMIT_NAMES,
  type LimitDeclaration,
  type LimitName,
  limitsOf,
  PROJECT_LIMITS,
} from '../../../actors/platform/project-limits.ts';
import type {
  IngestLimits,
  IngestRates,
  RowMemory,
} from '../../../actors/telemetry/ingest/ingest-limits.ts';
import type { VmRegistry } from '../../../actors/vms/vm-directory.ts';
import { CALL_CLASSES, classRules } from './call-classes.ts';
import type { ProjectGate } from './project-gate.ts';

export interface LimitUse {
  readonly name: LimitName;
  readonly limit: number;
  /** Absent: not measured yet, which is not zero. */
  readonly used?: number | undefined;
  readonly unit: string;
  readonly description: string;
}

export interface LimitUseOptions {
  readonly host: Pick<Host, 'view'>;
  readonly evaluator: Pick<EvaluatorView, 'quota'>;
  readonly registry: Pick<VmRegistry, 'countOf'>;
  readonly ingestLimits: Pick<IngestLimits, 'seriesOf'>;
  readonly memory: RowMemory;
  readonly ingestRates: Pick<IngestRates, 'used'>;
  readonly gate: Pick<ProjectGate, 'running'>;
}

/** Classes of calls that run at most as many as `concurrency` says, and not a multiple of it. */
const COUNTED_CLASSES = CALL_CLASSES.filter((kind) => {
  const { limit, slots } = classRules[kind];
  return limit === 'concurrency' && slots(DEFAULT_LIMITS).running === DEFAULT_LIMITS.concurrency;
});

export class ProjectLimitUse {
  readonly #options: LimitUseOptions;

  constructor(options: LimitUseOptions) {
    this.#options = options;
  }

  /** Every limit of the project, in the order of the table. */
  of(project: string): readonly LimitUse[] {
    const limits = limitsOf(this.#options.host.view(project));
    const used = this.#used(project);
    return LIMIT_NAMES.map((name) => {
      const { unit, help } = PROJECT_LIMITS[name];
      return { name, limit: limits[name], used: used[name], unit, description: help };
    });
  }

  #used(project: string): Readonly<Record<LimitName, number | undefined>> {
    const { host, evaluator, registry, ingestLimits, memory, ingestRates, gate } = this.#options;
    const view = host.view(project);
    const party = `projects/${project}`;
    const vms = registry.countOf(project);
    const series = ingestLimits.seriesOf(project);
    return {
      rules: view.countInstances('alertRule', { final: false }),
      destinations: view.countInstances('destination', { final: false }),
      instances: evaluator.quota(project).evaluated,
      vms,
      // They are counted as they are reported: VMs without any have not been heard since the start.
      series: series === 0 && vms > 0 ? undefined : series,
      headBytes: memory.quota(project).used,
      // Each class has the limit to itself: the one that is nearest to it counts.
      concurrency: Math.max(...COUNTED_CLASSES.map((kind) => gate.running(party, kind))),
      openStreams: gate.running(party, 'stream'),
      ...ingestRates.used(project),
    };
  }
}

/** The page, whole. */
export function limitsPage(): string {
  return [
    '# Limits of a project',
    '',
    'How much of the service one project may use, so that no project delays another. Everybody who may read the project sees the',
    'limits and their use: `svc limits`, or `MonitoringService/GetProjectLimits`. `used` is absent until it has been measured; an',
    'absent value is not zero. The operator sets limits (`svc admin limits set PROJECT --vms 20000`). Only limits that were set are',
    'stored, so a new default applies to every other project. After a limit is lowered, existing items stay, and no more are added.',
    'Generated from `actors/platform/project-limits.ts` by `npm run generate`.',
    '',
    '| limit | of | unit | default | at most |',
    '| --- | --- | --- | ---: | ---: |',
    ...LIMIT_NAMES.map((name) => {
      const declared: LimitDeclaration = PROJECT_LIMITS[name];
      const figures = [declared.default, declared.max].map((value) => value.toLocaleString('en'));
      return `| \`${name}\` | ${[declared.help, declared.unit, ...figures].join(' | ')} |`;
    }),
    '',
    '## Beyond a limit',
    '',
    '| limit | what happens |',
    '| --- | --- |',
    ...LIMIT_NAMES.map((name) => `| \`${name}\` | ${PROJECT_LIMITS[name].beyond} |`),
    '',
    'A refusal names its limit: in `metadata.limit` of TOO_MANY_REQUESTS; in `metadata.of` of LIMIT_EXCEEDED, which also has the',
    'value of the limit (`limit`) and the current number (`current`). See [errors.md](errors.md). Nothing of a write that was refused',
    'for its rate is stored: the sender keeps it and sends it again after `Retry-After`.',
    '',
    'Calls of people and collectors that belong to no project have the default slots. The metrics listener counts refused calls by',
    'limit and class of call (`svc_limit_refusals_total`), refused rows and samples by reason (`svc_samples_rejected_total`), and',
    'running and waiting calls (`svc_gate_calls`).',
    '',
    '## Calls that wait',
    '',
    '| class of call | at most | for |',
    '| --- | --- | --- |',
    '| queries, lists of VMs, exports, previews, replays | 1 MiB of requests for each of `concurrency`, half of it of one caller | 10 s |',
    '| other calls | 8 calls for each of `concurrency`, half of them of one caller | 5 s |',
    '',
    'A waiting request counts with its line, headers and body, and 16 KiB more. With the default of 8, 256 small requests of one key',
    'wait: all panels of a dashboard that is opened. The requests of all projects wait with 64 MiB together. If these are full, the',
    'newest requests of the project that has the most are refused, so a project that asks little always finds room.',
    '',
    '## Threads that projects share',
    '',
    'Queries have three threads; lists of VMs, exports and replays have two each. Previews and explanations are queries. The project',
    'that has used the least thread time is next.',
    '',
    '- **A project that used little waits for at most one slice of 500 ms.** It used little if that was at most 1 s of thread time',
    '  lately, or a quarter of what the busiest project used. Half of the used time is forgotten every 30 s.',
    '- **One thread is left to such projects.** Queries of the others have the rest. A query that has run for half a slice on this',
    '  thread, while another such project waits, makes room: it starts again on one of the other threads, at most once. The other half',
    '  of the slice is for it to stop. Its time of 10 s continues meanwhile.',
    '- **A query is ended when its project has used 20 s more than one that waits** and that one has no thread:',
    '  `TOO_MANY_REQUESTS` (429) with `Retry-After`. Projects that ask for the same end nothing of each other.',
    '',
    'The 500 ms are a choice: most panels take less, so few queries start twice, and a reader hardly notices the wait. The metrics',
    'listener counts both (`svc_query_threads`, kinds `moved` and `ended`). The attack program measures that the 99th percentile of a',
    'third project, beside two that flood, is within twice its quiet one and one slice.',
    '',
    '## Memory of the VM directory',
    '',
    'The service keeps a record of each VM of each project in memory: 255 bytes for one with a UUID and a short name, 277 once it was',
    'retired (measured over 50,000). `vms` bounds those that are not retired: 2.5 MB a project by default, 13 MB at most. Records of',
    'retired VMs stay, because history and audit name them, and no limit counts them: a project that registers and retires 1,000 VMs',
    'with new ids each day adds 100 MB a year. A VM that reappears under its id has the same record.',
    '',
  ].join('\n');
}
