/** The rule templates part of `AlertService`: the table, as messages. */
import type { ServiceImpl } from '@connectrpc/connect';
import { RULE_TEMPLATES } from '../../../actors/alerting/rule-templates.ts';
import type { AlertService } from '../../gen/svc/monitoring/v1/alert_pb.ts';
import { within } from '../../platform/api/caller.ts';
import { parseProjectName } from '../../platform/api/resource-name.ts';
import { specMessage } from './rule-messages.ts';

export function alertTemplateMethods(): Pick<
  ServiceImpl<typeof AlertService>,
  'listAlertRuleTemplates'
> {
  return {
    listAlertRuleTemplates(request, context) {
      within(context, parseProjectName('projectName', request.projectName));
      return {
        templates: RULE_TEMPLATES.map(({ id, description, spec }) => ({
          templateId: id,
          description,
          spec: specMessage(spec),
        })),
      };
    },
  };
}
