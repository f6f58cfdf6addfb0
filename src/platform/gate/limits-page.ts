/** docs/limits.md, made from the table of limits. */
import {
  LIMIT_NAMES,
  type LimitDeclaration,
  PROJECT_LIMITS,
} from '../../../actors/platform/project-limits.ts';

/** The page, whole. */
export function limitsPage(): string {
  return [
    '# Limits of a project',
    '',
    'What one project may take up of the service, so that no other is kept waiting by it. Whoever may read the project sees the',
    'limits that hold, with what is used of each: `svc limits`, or `MonitoringService/GetProjectLimits`. `used` is absent where',
    'nothing has been measured yet, which is not zero. The operator sets limits (`svc admin limits set PROJECT --vms 20000`);',
    'only what was set is kept, so that a new default reaches every other project. What exceeds a lowered limit stays, and no',
    'more is added. Made from `actors/platform/project-limits.ts` by `npm run generate`.',
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
    'A refusal names its limit: `metadata.limit` of TOO_MANY_REQUESTS; `metadata.of` of LIMIT_EXCEEDED, beside how many there may be',
    '(`limit`) and are (`current`). See [errors.md](errors.md). A sender keeps what was refused for its rate and sends it again',
    'after `Retry-After`; nothing of it was stored.',
    '',
    'People and collectors for all projects have the default slots for calls that belong to no project. The metrics listener counts',
    'refused calls by limit and class of call (`svc_limit_refusals_total`), refused rows and samples by reason',
    '(`svc_samples_rejected_total`), and the calls that run and wait (`svc_gate_calls`).',
    '',
  ].join('\n');
}
