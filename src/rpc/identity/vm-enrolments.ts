/** The enrolment part of `ProjectService`: expanded monitoring of single VMs. */
import type { ServiceImpl } from '@connectrpc/connect';
import type { ProjectService } from '../../gen/svc/project/v1/project_pb.ts';

export function enrolmentMethods(): Partial<
  Pick<ServiceImpl<typeof ProjectService>, 'enrolVm' | 'unenrolVm'>
> {
  return {};
}
