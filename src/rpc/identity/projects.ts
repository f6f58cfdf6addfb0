/**
 * `ProjectService`: reads a message, calls one function, answers. Its parts are by subject: the
 * caller and their projects, members and invitations, enrolment of VMs. For people alone; who may
 * do what is declared on the methods and decided by `within`.
 */
import type { ServiceImpl } from '@connectrpc/connect';
import type { Host } from '../../../actors/host-port.ts';
import type { ProjectService } from '../../gen/svc/project/v1/project_pb.ts';
import { enrolmentMethods } from './vm-enrolments.ts';

export interface ProjectDeps {
  readonly host: Host;
}

export function projectService(_deps: ProjectDeps): Partial<ServiceImpl<typeof ProjectService>> {
  return { ...enrolmentMethods() };
}
