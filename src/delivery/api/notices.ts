/** `ListNotices` of `AlertService`: notices about alerting itself, and about changes of access. */

import type { HandlerContext, ServiceImpl } from '@connectrpc/connect';
import type { NoticeBody } from '../../../actors/alerting/notices.ts';
import {
  type AccessNotice,
  displayedTo,
  type NoticeReader,
  sentencesOf,
} from '../../../actors/identity/access-notices.ts';
import type { Host, ListOptions, ProjectRecord } from '../../../actors/platform/host/host-port.ts';
import {
  type AlertService,
  type ListNoticesRequest,
  Notice_Kind,
} from '../../gen/svc/monitoring/v1/alert_pb.ts';
import { callerOf, within } from '../../platform/api/caller.ts';
import { unixSeconds } from '../../platform/api/message-fields.ts';
import { collect, mapPage } from '../../platform/api/paging.ts';
import { nameOf, parseProjectName } from '../../platform/api/resource-name.ts';
import { turnsOf } from '../../platform/api/slots.ts';

export function noticeMethods({
  host,
}: {
  readonly host: Host;
}): Pick<ServiceImpl<typeof AlertService>, 'listNotices'> {
  return { listNotices: (request, context) => listNotices(host, request, context) };
}

async function listNotices(host: Host, request: ListNoticesRequest, context: HandlerContext) {
  const project = within(context, parseProjectName('projectName', request.projectName));
  const reader = readerOf(context, project);
  const read = (options: ListOptions) =>
    mapPage(host.view(project).records('notice', { ...options, descending: true }), (record) =>
      noticeMessage(record, reader),
    );
  const page = await collect('notices', request, read, turnsOf(context));
  return { notices: page.items, nextPageToken: page.nextPageToken };
}

/**
 * The member behind the caller, for notices that only people may read; undefined for service
 * accounts and keys.
 */
function readerOf(context: HandlerContext, project: string): NoticeReader | undefined {
  const caller = callerOf(context);
  const place = caller.kind === 'human' ? caller.memberOf(project) : undefined;
  return place && { member: place.member, isOwner: place.role === 'OWNER' };
}

/** Undefined when the reader may not see the notice. */
function noticeMessage(
  { project, id, body: notice }: ProjectRecord<'notice'>,
  reader: NoticeReader | undefined,
) {
  const displayed =
    notice.kind === 'ACCESS_CHANGED' ? reader && displayedTo(notice, reader) : notice;
  if (!displayed) return undefined;
  const { kind, raisedMs, endedMs } = displayed;
  const isAccess = displayed.kind === 'ACCESS_CHANGED';
  return {
    name: nameOf(project, 'notices', id),
    kind: Notice_Kind[kind],
    subjectName: subjectNameOf(project, displayed),
    text: isAccess ? sentencesOf(displayed).join('\n') : displayed.text,
    raisedUnix: unixSeconds(raisedMs),
    ...(endedMs === null ? {} : { endedUnix: unixSeconds(endedMs) }),
  };
}

function subjectNameOf(project: string, notice: NoticeBody | AccessNotice): string {
  if (notice.kind === 'ACCESS_CHANGED' || notice.subject.collection === 'projects') {
    return `projects/${project}`;
  }
  return nameOf(project, notice.subject.collection, notice.subject.id);
}
