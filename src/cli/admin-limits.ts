/** Acts of `svc admin` about what a project may have, and about VMs that are no more. */
import {
  LIMIT_NAMES,
  type LimitName,
  PROJECT_LIMITS,
} from '../../actors/platform/project-limits.ts';
import {
  PROJECT_LIMIT_PATHS,
  type RetiredVmAnswer,
  type ToldLimits,
} from '../admin/project-limit-routes.ts';
import type { AdminAct } from './admin-act.ts';
import { NOT_OBSERVED, table } from './client/output.ts';

const project = { name: 'PROJECT' } as const;

export const limitActs: readonly AdminAct[] = [
  {
    name: 'limits show',
    summary: 'Show what a project may take up, and what it takes up now',
    positionals: [project],
    path: PROJECT_LIMIT_PATHS.show,
    ask: (input) => ({ project: input.positional(0) }),
    render: (answer) => limitTable(answer as ToldLimits),
  },
  {
    name: 'limits set',
    summary: 'Set limits of a project; those not given stay',
    positionals: [project],
    options: LIMIT_NAMES.map((name) => {
      const { default: byDefault, max, help } = PROJECT_LIMITS[name];
      const bounds = `default ${byDefault.toLocaleString('en')}, at most ${max.toLocaleString('en')}`;
      return { name: optionOf(name), takes: 'N', help: `${help}; ${bounds}` };
    }),
    isChange: true,
    path: PROJECT_LIMIT_PATHS.set,
    ask: (input) => ({
      project: input.positional(0),
      ...Object.fromEntries(LIMIT_NAMES.map((name) => [name, input.text(optionOf(name)) ?? ''])),
    }),
    render: (answer) => limitTable(answer as ToldLimits),
  },
  {
    name: 'vms retire',
    summary: 'Say that a VM is no more: its alerts end without a recovery, its history stays',
    positionals: [project, { name: 'VM' }],
    isChange: true,
    path: PROJECT_LIMIT_PATHS.retireVm,
    ask: (input) => ({ project: input.positional(0), vm: input.positional(1) }),
    render(answer) {
      const { vm, isNew } = answer as RetiredVmAnswer;
      return isNew ? `${vm} is retired\n` : `${vm} had been retired before\n`;
    },
  },
];

/** `samplesPerSecond` → `samples-per-second`. */
function optionOf(name: LimitName): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

function limitTable({ limits, used, unevaluated }: ToldLimits): string {
  const rows = LIMIT_NAMES.map((name) => [
    name,
    String(used[name] ?? NOT_OBSERVED),
    String(limits[name]),
  ]);
  const text = table(['OF', 'USED', 'LIMIT'], rows, '');
  return unevaluated === 0 ? text : `${text}${unevaluated} instances are not evaluated\n`;
}
