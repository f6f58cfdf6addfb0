/** `svc info`: the service at the endpoint, and its features. Read-only. */
import { ProjectService, type ServiceInfo } from '../../gen/svc/project/v1/project_pb.ts';
import { single } from '../client/action.ts';
import { reads } from '../client/frames.ts';
import { facts } from '../client/output.ts';

export const infoCommand = single({
  name: 'info',
  summary: 'Show the service: version, sampling interval, mail, CI issuers',
  run: reads({
    caller: 'person',
    method: ProjectService.method.getServiceInfo,
    request: async () => ({}),
    text: (info, context) => infoText(context.access('person').endpoint, info),
  }),
});

function infoText(endpoint: string, info: ServiceInfo): string {
  const { version, samplingIntervalSeconds, hasMail, ciIssuers, expandedDatacenters } = info;
  return facts([
    ['service', endpoint],
    ['version', version],
    ['sampling interval', `${samplingIntervalSeconds} s`],
    ['sends email', yesOrNo(hasMail)],
    ['users can create projects', yesOrNo(info.peopleCreateProjects)],
    ['expanded monitoring in', expandedDatacenters.join(', ') || 'no data center'],
    ...ciIssuers.map(({ name, kind, url }) => ['CI issuer', `${name} (${kind}, ${url})`] as const),
  ]);
}

function yesOrNo(value: boolean): string {
  return value ? 'yes' : 'no';
}
