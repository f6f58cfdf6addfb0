/** `svc alerts replay`: the notifications that a rule would have sent on stored history. */
import {
  AlertService,
  type ReplayAlertRuleResponse_Notification as Notification,
  type ReplayAlertRuleResponse,
} from '../../gen/svc/monitoring/v1/alert_pb.ts';
import { Delivery_Event, Delivery_State } from '../../gen/svc/monitoring/v1/delivery_pb.ts';
import { type Action, projectOption } from '../client/action.ts';
import { printable } from '../client/faults.ts';
import { reads } from '../client/frames.ts';
import { resourceNames } from '../client/names.ts';
import { facts, table } from '../client/output.ts';
import { displayedName, enumText, localTime, NOT_OBSERVED } from '../client/texts.ts';
import { historyOptions, readTrial, seriesText } from './alert-spec.ts';

export const replayAction: Action = {
  name: 'replay',
  summary: 'Show which notifications a rule would have sent on stored history',
  options: [
    ...historyOptions('1d'),
    {
      name: 'only',
      takes: 'NAME',
      multiple: true,
      help: 'Replay only these VMs, at most 20: names or ids',
    },
    { name: 'bodies', help: 'Print the text of each notification' },
    projectOption,
  ],
  notes: `An estimate: it assumes that destinations accept at once, that no incident is acknowledged or
snoozed, and that the rule was applied at the start of the history. Nothing is saved or sent. To
replay a recording, use "svc replay".`,
  run: reads({
    caller: 'any',
    method: AlertService.method.replayAlertRule,
    async request(context, api) {
      const trial = await readTrial(context, api);
      return {
        ...trial,
        vmNames: await resourceNames(context, api, 'vms', context.input.list('only')),
      };
    },
    text: (replay, { input }) => replayText(replay, input.isOn('bodies')),
  }),
};

function replayText(replay: ReplayAlertRuleResponse, hasBodies: boolean): string {
  const { notifications, truncated, vmNames, unreadVmNames, unreadVmDisplayNames } = replay;
  const unread = unreadVmNames.map((name, i) => displayedName(unreadVmDisplayNames[i] ?? '', name));
  const head = facts([
    ['estimate', 'destinations accept at once, no acknowledgements'],
    ['from', localTime(replay.startTimeUnix)],
    ['to', localTime(replay.endTimeUnix)],
    ['VMs', String(vmNames.length)],
    ['not read', unread.join(', ')],
    ['samples', `${replay.observedSamples} observed of ${replay.expectedSamples} expected`],
    ['note', truncated ? 'the list is truncated to the first notifications' : ''],
  ]);
  const none =
    replay.observedSamples === 0n
      ? 'Nothing was observed, so it is unknown what would have been sent'
      : 'Nothing would have been sent';
  const titles = ['at', 'event', 'VM', 'series', 'destination', 'recipient', 'outcome'];
  const list = table(titles, notifications.map(notificationRow), none);
  const bodies = hasBodies ? notifications.flatMap(bodyText) : [];
  return [head, list, ...bodies].join('\n');
}

function notificationRow(notification: Notification): string[] {
  const { atUnix, event, vmName, vmDisplayName, labels, outcome, reason } = notification;
  return [
    localTime(atUnix),
    enumText(Delivery_Event, event),
    vmName === '' ? 'data center' : displayedName(vmDisplayName, vmName),
    seriesText(labels),
    destinationText(notification),
    notification.recipient ?? NOT_OBSERVED,
    [enumText(Delivery_State, outcome), reason].filter((word) => word !== '').join(' '),
  ];
}

/** Absent for callers who may not see destinations. */
function destinationText({ destinationName, destinationDisplayName }: Notification): string {
  if (destinationName === undefined) return NOT_OBSERVED;
  return displayedName(destinationDisplayName ?? '', destinationName);
}

function bodyText(notification: Notification): string[] {
  const { atUnix, body } = notification;
  if (body === undefined) return [];
  const lines = body.split('\n').map(printable);
  return [`${localTime(atUnix)} to ${destinationText(notification)}\n${lines.join('\n')}\n`];
}
