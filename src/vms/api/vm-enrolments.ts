/**
 * Methods of expanded monitoring: `EnrolVm` and `UnenrolVm` of `ProjectService`, for people, and
 * `EnrolAgent` of `AutomationService`, which the agent inside the guest calls once with its token.
 */

import type { ServiceImpl } from '@connectrpc/connect';
import type { Enrolments } from '../../../actors/vms/enrolments.ts';
import type { AutomationService } from '../../gen/svc/iam/v1/automation_pb.ts';
import {
  EnrolVmRequestSchema,
  type ProjectService,
  UnenrolVmRequestSchema,
} from '../../gen/svc/project/v1/project_pb.ts';
import { actorOf, requestKeyOf, within } from '../../platform/api/caller.ts';
import { unixSeconds } from '../../platform/api/message-fields.ts';
import { nameOf, parseName } from '../../platform/api/resource-name.ts';

export interface EnrolmentDeps {
  readonly enrolments: Enrolments;
  /** Origin of the API, as reached by clients. */
  readonly publicUrl: () => string;
}

/** Methods for people, who offer and end expanded monitoring of a VM. */
export function enrolmentMethods({
  enrolments,
  publicUrl,
}: EnrolmentDeps): Pick<ServiceImpl<typeof ProjectService>, 'enrolVm' | 'unenrolVm'> {
  return {
    async enrolVm(message, context) {
      const { project, id: vm } = parseName('vmName', message.vmName, 'vms');
      const offered = await enrolments.offer({
        project: within(context, project),
        vm,
        datacenter: message.datacenter,
        by: actorOf(context),
        request: requestKeyOf(context, EnrolVmRequestSchema, message),
      });
      return {
        vmName: nameOf(project, 'vms', vm),
        enrolmentToken: offered.token ?? '',
        secretAvailable: offered.token !== null,
        expiresUnix: unixSeconds(offered.expiresMs),
        installCommand: installCommand(publicUrl()),
      };
    },
    async unenrolVm(message, context) {
      const { project, id: vm } = parseName('vmName', message.vmName, 'vms');
      await enrolments.end({
        project: within(context, project),
        vm,
        by: actorOf(context),
        request: requestKeyOf(context, UnenrolVmRequestSchema, message),
      });
      return {};
    },
  };
}

/** Method for the agent, which authenticates with its one-time token. */
export function agentMethods({
  enrolments,
}: Pick<EnrolmentDeps, 'enrolments'>): Pick<ServiceImpl<typeof AutomationService>, 'enrolAgent'> {
  return {
    async enrolAgent({ enrolmentToken, system }) {
      const { project, vm, key, expiresMs } = await enrolments.enrol(enrolmentToken, system);
      return {
        projectName: `projects/${project}`,
        vmName: nameOf(project, 'vms', vm),
        key,
        expiresUnix: unixSeconds(expiresMs),
      };
    },
  };
}

/**
 * For root of the guest. The command prompts for the token, so that no process list contains it.
 */
function installCommand(endpoint: string): string {
  return `svc agent enrol --endpoint ${endpoint} && svc agent install`;
}
