/**
 * Draws docs/operations/sizing.svg: the number of VMs at which each bound is reached, smallest
 * first, and what one VM costs. Computed from measured costs of a VM and from the defaults of the
 * settings, so a changed default makes the picture stale.
 */
import { PROJECT_LIMITS } from '../../actors/platform/project-limits.ts';
import { settingsTable } from '../../src/platform/settings/settings.ts';

/** Measured: see docs/operations/sizing.md. A VM reports 12 to 13 series every 30 s. */
const MEASURED = {
  /** Head with an hour of rows: 165 MB for 10,000 VMs. */
  headBytesOfVm: 16_500,
  /** history.db and four hours of log in seven days. */
  diskBytesOfVm: 360_000,
  /** The same with the reserve that the table of sizes has. */
  diskBytesOfVmWithReserve: 1_000_000,
  /** 7.2 % of a core for 12,000 samples a second with 150 rules. */
  cpuMicrosecondsOfSample: 6,
  /** 0.58 CPU seconds to read a million samples of the log. */
  logMicrosecondsOfSample: 0.58,
  seriesOfVm: 12,
  rowsOfHour: 120,
} as const;

/** A bound, and the number of VMs that reach it. */
export interface BoundOfVms {
  readonly what: string;
  /** The setting or limit that changes it, or its dependency. */
  readonly moves: string;
  readonly vms: number;
}

const JOINING_CPU_SECONDS = 60;
const DISK_GB = 100;

/** All bounds with the default settings, the one that is reached first in front. */
export function boundsOfVms(): readonly BoundOfVms[] {
  const headMib = Number(settingsTable.headMib.default);
  const { vms, headBytes } = PROJECT_LIMITS;
  // A member that joins, or a process without checkpoints of evaluation, reads the whole log.
  const joining = (hours: number): BoundOfVms => {
    const samples = MEASURED.seriesOfVm * MEASURED.rowsOfHour * hours;
    const cpuSeconds = (samples * MEASURED.logMicrosecondsOfSample) / 1e6;
    return {
      what: `joining, ${hours} h of log: 1 CPU minute`,
      moves: hours > 4 ? 'no checkpoint; longest window of a rule' : 'no checkpoint; shortest log',
      vms: JOINING_CPU_SECONDS / cpuSeconds,
    };
  };
  const perSecond = MEASURED.seriesOfVm / 30;
  const bounds: BoundOfVms[] = [
    joining(24),
    joining(4),
    { what: 'one project: registered VMs', moves: 'limit vms', vms: vms.default },
    {
      what: 'one project: memory for new rows',
      moves: 'limit headBytes',
      vms: headBytes.default / MEASURED.headBytesOfVm,
    },
    {
      what: 'all projects: memory for new rows',
      moves: 'SVC_HEAD_MIB, SVC_FLUSH_MINUTES',
      vms: (headMib * 2 ** 20) / MEASURED.headBytesOfVm,
    },
    {
      what: `a disk of ${DISK_GB} GB, with reserve`,
      moves: 'SVC_HISTORY_DATA, SVC_RETENTION_DAYS',
      vms: (DISK_GB * 1e9) / MEASURED.diskBytesOfVmWithReserve,
    },
    {
      what: 'one core, 150 rules',
      moves: 'one process evaluates on one core',
      vms: 1e6 / (perSecond * MEASURED.cpuMicrosecondsOfSample),
    },
  ];
  return bounds.toSorted((a, b) => a.vms - b.vms);
}

const WIDTH = 880;
const MARGIN = 20;
const LEFT = 330;
const RIGHT = WIDTH - 96;
const TOP = 84;
const ROW_HEIGHT = 46;
const COSTS_HEIGHT = 96;
const DECADES = [3, 4, 5, 6];

/** The picture; the same figures give the same text. */
export function paintSizing(): string {
  const bounds = boundsOfVms();
  const bottom = TOP + bounds.length * ROW_HEIGHT;
  const height = bottom + COSTS_HEIGHT;
  const label = 'The number of VMs at which each bound is reached, and what one VM costs';
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="${label}">`,
    `<title>${label}</title>`,
    `<style>${STYLE}</style>`,
    `<rect class="paper" width="${WIDTH}" height="${height}" rx="10"/>`,
    `<text class="title" x="${MARGIN}" y="32">What is reached first, by number of VMs</text>`,
    `<text class="note" x="${MARGIN}" y="52">12 series every 30 s, default settings; computed from the measured costs of a VM</text>`,
    ...DECADES.flatMap((decade) => paintDecade(decade, bottom)),
    ...bounds.flatMap(paintBound),
    ...paintCosts(bottom + 34),
    '</svg>',
    '',
  ].join('\n');
}

const STYLE = [
  'text{font-family:Helvetica,Arial,"Liberation Sans","DejaVu Sans",sans-serif;fill:#1f2933}',
  '.paper{fill:#fff}.title{font-size:17px;font-weight:700}.name{font-size:14px;font-weight:600}',
  '.note{font-size:12.5px;fill:#52606d}.value{font-size:13.5px;font-weight:600}.end{text-anchor:end}',
  '.mid{text-anchor:middle}.line{stroke:#8292a6;opacity:.35}.bar{fill:hsl(212,55%,52%)}.first{fill:hsl(30,70%,50%)}',
  '.cost{fill:#f4f6f8}.big{font-size:16px;font-weight:700}',
  '@media (prefers-color-scheme:dark){text{fill:#e6edf3}.note{fill:#9fb0c0}.paper{fill:#0f151c}',
  '.cost{fill:#161e27}.bar{fill:hsl(212,55%,60%)}.first{fill:hsl(30,70%,58%)}}',
].join('');

function paintDecade(decade: number, bottom: number): string[] {
  const x = xOf(10 ** decade);
  return [
    `<line class="line" x1="${x}" y1="${TOP - 6}" x2="${x}" y2="${bottom}"/>`,
    `<text class="note mid" x="${x}" y="${TOP - 12}">${(10 ** decade).toLocaleString('en')}</text>`,
  ];
}

/** The scale is logarithmic. */
function xOf(vms: number): number {
  const [first = 0, last = 0] = [DECADES[0], DECADES.at(-1)];
  const share = (Math.log10(vms) - first) / (last - first);
  return Math.round((LEFT + share * (RIGHT - LEFT)) * 10) / 10;
}

function paintBound({ what, moves, vms }: BoundOfVms, place: number): string[] {
  const y = TOP + place * ROW_HEIGHT;
  const end = xOf(vms);
  const count = Number(vms.toPrecision(2)).toLocaleString('en');
  const bar = place === 0 ? 'first' : 'bar';
  return [
    `<g><title>${what}: ${count} VMs; ${moves}</title>`,
    `<text class="name end" x="${LEFT - 14}" y="${y + 18}">${what}</text>`,
    `<text class="note end" x="${LEFT - 14}" y="${y + 34}">${moves}</text>`,
    `<rect class="${bar}" x="${LEFT}" y="${y + 8}" width="${Math.round((end - LEFT) * 10) / 10}" height="24" rx="4"/>`,
    `<text class="value" x="${end + 8}" y="${y + 25}">${count}</text></g>`,
  ];
}

function paintCosts(top: number): string[] {
  const { headBytesOfVm, diskBytesOfVm, cpuMicrosecondsOfSample, logMicrosecondsOfSample } =
    MEASURED;
  const costs = [
    [`${headBytesOfVm / 1000} KB`, 'memory of a VM, 1 h'],
    [`${diskBytesOfVm / 1e6} MB`, 'disk of a VM, 7 days'],
    [`${cpuMicrosecondsOfSample} µs`, 'CPU of a sample, 150 rules'],
    [`${logMicrosecondsOfSample} µs`, 'CPU of a sample, log'],
  ] as const;
  const gap = 12;
  const width = (WIDTH - 2 * MARGIN - gap * (costs.length - 1)) / costs.length;
  return costs.flatMap(([value, meaning], i) => {
    const x = MARGIN + i * (width + gap);
    return [
      `<rect class="cost" x="${x}" y="${top - 22}" width="${width}" height="64" rx="8"/>`,
      `<text class="big" x="${x + 12}" y="${top + 4}">${value}</text>`,
      `<text class="note" x="${x + 12}" y="${top + 26}">${meaning}</text>`,
    ];
  });
}
