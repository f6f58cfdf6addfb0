/** `svc alerts templates`: rule templates, and their use as the base of a save or preview. */
import { AlertService } from '../../gen/svc/monitoring/v1/alert_pb.ts';
import type { AlertRuleSpec } from '../../gen/svc/monitoring/v1/rule_pb.ts';
import { type Action, projectOption } from '../client/action.ts';
import type { Api } from '../client/api.ts';
import { conditionText } from '../client/condition-text.ts';
import { UsageError } from '../client/faults.ts';
import { ofProject, reads } from '../client/frames.ts';
import { listing, long, sentences } from '../client/listing.ts';

const { method } = AlertService;

export const templatesAction: Action = {
  name: 'templates',
  summary: 'List rule templates with their limitations',
  options: [projectOption],
  notes: 'svc alerts save --template ID creates a rule from a template; flags override its fields.',
  run: reads({
    caller: 'any',
    method: method.listAlertRuleTemplates,
    request: ofProject,
    text({ templates }, { screen }) {
      const columns = ['template', long('name'), sentences('condition')];
      const rows = templates.map(({ templateId, spec }) => [
        templateId,
        spec?.displayName ?? '',
        conditionText(spec),
      ]);
      const about = templates.map((one) => `\n${one.templateId}: ${one.description}\n`);
      return listing(screen, columns, rows, 'No templates') + about.join('');
    },
  }),
};

/** The spec of the template with this id. Throws `UsageError` that lists the available ones. */
export async function templateSpec(api: Api, project: string, id: string): Promise<AlertRuleSpec> {
  const { templates } = await api.call(method.listAlertRuleTemplates, { projectName: project });
  const found = templates.find(({ templateId }) => templateId === id);
  if (found?.spec) return found.spec;
  const ids = templates.map(({ templateId }) => templateId).join(', ');
  throw new UsageError(`--template must be one of ${ids}, not ${JSON.stringify(id)}`);
}
