/** `GetServiceInfo` of `ProjectService`: how this service is set up, as far as people need to know. */
import type { MessageInitShape } from '@bufbuild/protobuf';
import { SAMPLING_INTERVAL_MS } from '../../../streams/telemetry/metrics/derive-columns.ts';
import type { ServiceInfoSchema } from '../../gen/svc/project/v1/project_pb.ts';
import type { Settings } from '../../platform/settings/settings.ts';
import { programVersion } from '../../platform/version.ts';

export type InfoSettings = Pick<
  Settings,
  'smtpUrl' | 'ciIssuers' | 'expandedDatacenters' | 'projectCreation'
>;

/** No address of a mail server, no key: only what a page asks before it offers something. */
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
