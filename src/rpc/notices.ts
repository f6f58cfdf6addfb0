/** The notices part of `AlertService`: what the service says of alerting itself. */
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect';
import type { NoticeBody } from '../../actors/alerting/notices.ts';
import type { Host, StoredRecord } from '../../actors/host-port.ts';
import {
  type AlertService,
  type ListNoticesRequest,
  Notice_Kind,
} from '../gen/svc/monitoring/v1/alert_pb.ts';
import { within } from './caller.ts';
import { collect, mapPage } from './paging.ts';
import { nameOf, parseProjectName } from './resource-name.ts';

export function noticeMethods({
  host,
}: {
  readonly host: Host;
}): Pick<ServiceImpl<typeof AlertService>, 'listNotices'> {
  return { listNotices: (request, context) => listNotices(host, request, context) };
}

function listNotices(host: Host, request: ListNoticesRequest, context: HandlerContext) {
  const project = within(context, parseProjectName('projectName', request.projectName));
  const page = collect('notices', request, (options) =>
    mapPage(host.view(project).records('notice', { ...options, descending: true }), noticeMessage),
  );
  return { notices: page.items, nextPageToken: page.token };
}

function noticeMessage({ project, id, body }: StoredRecord) {
  const { kind, subject, text, raisedMs, endedMs } = body as unknown as NoticeBody;
  return {
    name: nameOf(project, 'notices', id),
    kind: Notice_Kind[kind],
    subjectName: nameOf(project, subject.collection, subject.id),
    text,
    raisedUnix: BigInt(Math.floor(raisedMs / 1000)),
    ...(endedMs === null ? {} : { endedUnix: BigInt(Math.floor(endedMs / 1000)) }),
  };
}
