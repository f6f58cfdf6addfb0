/** Acts of `svc admin` about what a project may have, and about VMs that are no more. */
import {
  PROJECT_LIMIT_PATHS,
  type RetiredVmAnswer,
  type ToldLimits,
} from '../admin/project-limit-routes.ts';
import type { AdminAct } from './admin-act.ts';
import { table } from './client/output.ts';

const project = { name: 'PROJECT' } as const;

export const limitActs: readonly AdminAct[] = [
  {
    name: 'limits show',
    summary: 'Show how many rules, destinations and evaluated instances a project may have',
    positionals: [project],
    path: PROJECT_LIMIT_PATHS.show,
    ask: (input) => ({ project: input.positional(0) }),
    tell: (answer) => limitTable(answer as ToldLimits),
  },
  {
    name: 'limits set',
    summary: 'Set limits of a project; those not given stay',
    positionals: [project],
    options: [
      { name: 'rules', takes: 'N', help: 'Alert rules; default 20, at most 1,000' },
      { name: 'destinations', takes: 'N', help: 'Destinations; default 5, at most 100' },
      {
        ...{ name: 'instances', takes: 'N' },
        help: 'Alert instances evaluated at once; default 10,000, at most 200,000',
      },
    ],
    isChange: true,
    path: PROJECT_LIMIT_PATHS.set,
    ask: (input) => ({
      project: input.positional(0),
      rules: input.text('rules') ?? '',
      destinations: input.text('destinations') ?? '',
      instances: input.text('instances') ?? '',
    }),
    tell: (answer) => limitTable(answer as ToldLimits),
  },
  {
    name: 'vms retire',
    summary: 'Say that a VM is no more: its alerts end without a recovery, its history stays',
    positionals: [project, { name: 'VM' }],
    isChange: true,
    path: PROJECT_LIMIT_PATHS.retireVm,
    ask: (input) => ({ project: input.positional(0), vm: input.positional(1) }),
    tell(answer) {
      const { vm, isNew } = answer as RetiredVmAnswer;
      return isNew ? `${vm} is retired\n` : `${vm} had been retired before\n`;
    },
  },
];

function limitTable({ limits, used, unevaluated }: ToldLimits): string {
  const rows = (['rules', 'destinations', 'instances'] as const).map((name) => [
    name,
    String(used[name]),
    String(limits[name]),
  ]);
  const text = table(['OF', 'USED', 'LIMIT'], rows, '');
  return unevaluated === 0 ? text : `${text}${unevaluated} instances are not evaluated\n`;
}
