/** `AutomationService`: its methods come from one file for each kind of identity. */
import type { ServiceImpl } from '@connectrpc/connect';
import { type CiDeps, ciMethods } from '../ci/api/ci.ts';
import type { AutomationService } from '../gen/svc/iam/v1/automation_pb.ts';
import { type AccountsDeps, accountMethods } from '../identity/api/accounts.ts';
import { credentialMethods } from '../identity/api/credentials.ts';
import { type KeysDeps, keyMethods } from '../identity/api/keys.ts';
import { templateMethods } from '../identity/api/templates.ts';
import { agentMethods, type EnrolmentDeps } from '../vms/api/vm-enrolments.ts';

export interface AutomationDeps
  extends AccountsDeps,
    KeysDeps,
    CiDeps,
    Pick<EnrolmentDeps, 'enrolments'> {}

export function automationService(deps: AutomationDeps): ServiceImpl<typeof AutomationService> {
  return {
    ...templateMethods(),
    ...accountMethods(deps),
    ...keyMethods(deps),
    ...credentialMethods(deps),
    ...ciMethods(deps),
    ...agentMethods(deps),
  };
}
