/**
 * `GetServiceInfo` of `ProjectService`: the setup of this service, as far as users need to know it.
 */
import type { MessageInitShape } from '@bufbuild/protobuf';
import { SAMPLING_INTERVAL_MS } from '../../../streams/telemetry/metrics/derive-columns.ts';
import type { ServiceInfoSchema } from '../../gen/svc/project/v1/project_pb.ts';
import type { Settings } from '../../platform/settings/settings.ts';
import { programVersion } from '../../platform/version.ts';

export type InfoSettings = Pick<
  Settings,
  'smtpUrl' | 'ciIssuers' | 'expandedDatacenters' | 'projectCreation'
>;

/**
 * Contains no address of a mail server and no key, only the facts that a page needs to decide what
 * to offer.
 */
export function serviceInfoOf(settings: InfoSettings): MessageInitShape<typeof ServiceInfoSchema> {
  return {
    version: programVersion,
    samplingIntervalSeconds: SAMPLING_INTERVAL_MS / 1000,
    hasMail: settings.smtpUrl !== null,
    ciIssuers: settings.ciIssuers.map(({ name, kind, url }) => ({ name, kind, url })),
    expandedDatacenters: [...settings.expandedDatacenters],
    peopleCreateProjects: settings.projectCreation === 'people',
  };
}
