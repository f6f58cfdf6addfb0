/** `AutomationService`: its methods come from one file for each kind of identity. */
import type { ServiceImpl } from '@connectrpc/connect';
import type { Host } from '../../../actors/host-port.ts';
import type { AutomationService } from '../../gen/svc/iam/v1/automation_pb.ts';
import { templateMethods } from './templates.ts';

export interface AutomationDeps {
  readonly host: Host;
}

export function automationService(
  _deps: AutomationDeps,
): Partial<ServiceImpl<typeof AutomationService>> {
  return { ...templateMethods() };
}
