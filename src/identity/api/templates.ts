/** The templates part of `AutomationService`: one table, for whoever may enter the project. */
import type { ServiceImpl } from '@connectrpc/connect';
import { PERMISSION_TEMPLATES } from '../../../actors/identity/grants.ts';
import type { AutomationService } from '../../gen/svc/iam/v1/automation_pb.ts';
import { within } from '../../platform/api/caller.ts';
import { parseProjectName } from '../../platform/api/resource-name.ts';

export function templateMethods(): Pick<
  ServiceImpl<typeof AutomationService>,
  'listPermissionTemplates'
> {
  return {
    listPermissionTemplates({ projectName }, context) {
      within(context, parseProjectName('projectName', projectName));
      const templates = PERMISSION_TEMPLATES.map(({ id, capabilities, ...shown }) => ({
        template: id,
        ...shown,
        capabilities: [...capabilities],
      }));
      return { templates };
    },
  };
}
