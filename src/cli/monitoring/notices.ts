/** `svc notices`: problems of alerting itself, and changes of access. Read-only. */

import { displayedText } from '../../delivery/api/notice-text.ts';
import { AlertService, type Notice, Notice_Kind } from '../../gen/svc/monitoring/v1/alert_pb.ts';
import { projectOption, single } from '../client/action.ts';
import { reads } from '../client/frames.ts';
import { type Cell, listing, moment, sentences, stateCell } from '../client/listing.ts';
import { projectName } from '../client/names.ts';
import { pageOptions, requestedPage } from '../client/paging.ts';
import { enumText, NOT_OBSERVED } from '../client/texts.ts';

export const noticesCommand = single({
  name: 'notices',
  summary: 'Show notices: paused destinations, bounced mail, reached limits, changes of access',
  options: [projectOption, ...pageOptions],
  notes: `Newest first. If the cause has ended, the notice says when. Changes of access are visible to
signed-in owners and to the member whose key is affected.`,
  run: reads({
    caller: 'any',
    method: AlertService.method.listNotices,
    request: async (context, api) => ({
      projectName: await projectName(context, api),
      ...requestedPage(context),
    }),
    text({ notices }, { screen }) {
      const columns = ['raised', 'ended', 'kind', sentences('notice')];
      return listing(screen, columns, notices.map(rowOf), 'No notices');
    },
  }),
});

function rowOf({ kind, raisedUnix, endedUnix, text }: Notice): Cell[] {
  const isAccess = kind === Notice_Kind.ACCESS_CHANGED;
  return [
    moment(raisedUnix),
    isAccess ? NOT_OBSERVED : endedUnix === undefined ? stateCell('lasts') : moment(endedUnix),
    enumText(Notice_Kind, kind),
    displayedText(text).replaceAll('\n', '; '),
  ];
}
