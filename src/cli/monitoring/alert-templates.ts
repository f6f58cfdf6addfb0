/** `svc alerts templates`: rule templates, and their use as the base of a save or preview. */
import {
  AlertService,
  ListAlertRuleTemplatesResponseSchema,
} from '../../gen/svc/monitoring/v1/alert_pb.ts';
import type { AlertRuleSpec } from '../../gen/svc/monitoring/v1/rule_pb.ts';
import { type Action, projectOption } from '../client/action.ts';
import type { Api } from '../client/api.ts';
import { conditionText } from '../client/condition-text.ts';
import { UsageError } from '../client/faults.ts';
import { listing, long, sentences } from '../client/listing.ts';
import { projectName } from '../client/names.ts';
import { printMessage } from '../client/output.ts';

export const templatesAction: Action = {
  name: 'templates',
  summary: 'List rule templates with their limitations',
  options: [projectOption],
  notes: 'svc alerts save --template ID creates a rule from a template; flags override its fields.',
  async run(context) {
    const api = context.api('any');
    const project = await projectName(context, api);
    const templates = await templatesOf(api, project);
    const rows = templates.map(({ templateId, spec }) => [
      templateId,
      spec?.displayName ?? '',
      conditionText(spec),
    ]);
    return printMessage(context, ListAlertRuleTemplatesResponseSchema, { templates }, () => {
      const columns = ['template', long('name'), sentences('condition')];
      const about = templates.map((one) => `\n${one.templateId}: ${one.description}\n`);
      return listing(context.screen, columns, rows, 'No templates') + about.join('');
    });
  },
};

/** The spec of the template with this id. Throws `UsageError` that lists the available ones. */
export async function templateSpec(api: Api, project: string, id: string): Promise<AlertRuleSpec> {
  const templates = await templatesOf(api, project);
  const found = templates.find(({ templateId }) => templateId === id);
  if (found?.spec) return found.spec;
  const ids = templates.map(({ templateId }) => templateId).join(', ');
  throw new UsageError(`--template must be one of ${ids}, not ${JSON.stringify(id)}`);
}

async function templatesOf(api: Api, project: string) {
  const answer = await api.call(AlertService.method.listAlertRuleTemplates, {
    projectName: project,
  });
  return answer.templates;
}
