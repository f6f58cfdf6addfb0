/** `svc limits`: what a project may take up, and what it takes up now. Read only. */
import {
  GetProjectLimitsResponseSchema,
  MonitoringService,
} from '../../gen/svc/monitoring/v1/monitoring_pb.ts';
import { projectOption, single } from '../client/action.ts';
import { projectName } from '../client/names.ts';
import { NOT_OBSERVED, printMessage, table } from '../client/output.ts';

export const limitsCommand = single({
  name: 'limits',
  summary: 'Show the limits of a project and their current use',
  options: [projectOption],
  notes: `"${NOT_OBSERVED}" stands for what has not been measured; it is not a zero. The operator sets limits: svc admin limits set.`,
  async run(context) {
    const api = context.api('any');
    const request = { projectName: await projectName(context, api) };
    const answer = await api.call(MonitoringService.method.getProjectLimits, request);
    const rows = answer.limits.map(({ name, used, limit, unit, description }) => [
      ...[name, used === undefined ? NOT_OBSERVED : String(used), String(limit)],
      ...[unit, description],
    ]);
    const right = (title: string) => ({ title, align: 'right' as const });
    const columns = ['limit', right('used'), right('at most'), 'unit', 'of'];
    return printMessage(context, GetProjectLimitsResponseSchema, answer, () =>
      table(columns, rows, 'This service reports no limits'),
    );
  },
});
