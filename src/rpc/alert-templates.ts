/** The rule templates part of `AlertService`. */
import { Code, ConnectError, type ServiceImpl } from '@connectrpc/connect';
import type { AlertService } from '../gen/svc/monitoring/v1/alert_pb.ts';

export function alertTemplateMethods(): Pick<
  ServiceImpl<typeof AlertService>,
  'listAlertRuleTemplates'
> {
  return {
    listAlertRuleTemplates(): never {
      throw new ConnectError('This method is being built', Code.Unimplemented);
    },
  };
}
