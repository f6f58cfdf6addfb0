/** `svc maintenance`: periods without notifications. For signed-in people. */
import {
  MaintenanceService,
  type MaintenanceWindow,
  MaintenanceWindow_State,
  MaintenanceWindowSchema,
} from '../../gen/svc/monitoring/v1/maintenance_pb.ts';
import {
  type Action,
  type ActionContext,
  family,
  projectOption,
  requestIdOption,
} from '../client/action.ts';
import { UsageError } from '../client/faults.ts';
import { change, reads } from '../client/frames.ts';
import { listing, long, minor, moment, stateCell } from '../client/listing.ts';
import { firstNamed, projectName, requestId } from '../client/names.ts';
import { reportRequest } from '../client/once.ts';
import { facts, printMessage } from '../client/output.ts';
import { pageOptions, requestedPage } from '../client/paging.ts';
import { displayedName, enumText, fullName, localTime, shortName } from '../client/texts.ts';
import { ruleAndVmOf, ruleAndVmOptions } from './filters.ts';

const { method } = MaintenanceService;

const planAction: Action = {
  name: 'plan',
  summary: 'Plan a period without notifications',
  options: [
    projectOption,
    ...ruleAndVmOptions,
    { name: 'all', help: 'Everything in the project' },
    { name: 'from', takes: 'TIME', help: 'Start, such as 22:00; default: now' },
    { name: 'until', takes: 'TIME', help: 'End, at most 30 days after the start' },
    { name: 'for', takes: 'DURATION', help: 'Duration, instead of --until' },
    { name: 'note', takes: 'TEXT', help: 'Reason, for other members' },
    requestIdOption,
  ],
  notes: `
Evaluation continues and incidents are recorded. Incidents that fire at the end are announced once.
`,
  async run(context) {
    const api = context.api('person');
    const { input } = context;
    const [rule, vm] = [input.text('rule'), input.text('vm')];
    const isAll = input.isOn('all');
    if (isAll === (rule !== undefined || vm !== undefined)) {
      throw new UsageError('The scope is not clear', 'Use --rule, --vm or both, or --all');
    }
    const { fromUnix, untilUnix } = timesOf(context);
    const request = {
      projectName: await projectName(context, api),
      requestId: requestId(context),
      ...(await ruleAndVmOf(context, api)),
      fromUnix: BigInt(fromUnix),
      untilUnix: BigInt(untilUnix),
      note: input.text('note') ?? '',
    };
    const until = `until ${localTime(untilUnix)} (--until ${untilUnix})`;
    reportRequest(context, `Planning maintenance ${until}`, request.requestId);
    return printWindow(context, await api.call(method.createMaintenanceWindow, request));
  },
};

/** Unix seconds. Throws `UsageError` unless an end is given. */
function timesOf({ input, ports }: ActionContext) {
  const fromUnix = input.timeToCome('from') ?? 0;
  const seconds = input.seconds('for');
  const until = input.timeToCome('until', fromUnix);
  if ((seconds === undefined) === (until === undefined)) {
    throw new UsageError('Use either --for or --until', 'For example: --for 2h');
  }
  const beginUnix = fromUnix === 0 ? Math.floor(ports.clock.now() / 1000) : fromUnix;
  return { fromUnix, untilUnix: until ?? beginUnix + (seconds ?? 0) };
}

const listAction: Action = {
  name: 'list',
  summary: 'List current and planned maintenance windows',
  options: [projectOption, { name: 'over', help: 'Include past windows' }, ...pageOptions],
  run: reads({
    caller: 'person',
    method: method.listMaintenanceWindows,
    request: async (context, api) => ({
      projectName: await projectName(context, api),
      includeOver: context.input.isOn('over'),
      ...requestedPage(context),
    }),
    text: ({ windows }, { screen }) =>
      listing(
        screen,
        [long('note'), 'state', long('covers'), 'from', 'until', minor('by'), minor('window')],
        windows.map((window) => [
          window.note,
          stateCell(enumText(MaintenanceWindow_State, window.state)),
          coverText(window),
          moment(window.fromUnix),
          moment(window.untilUnix),
          window.createdByDisplayName || window.createdBy,
          shortName(window.name),
        ]),
        'No maintenance is planned',
      ),
  }),
};

const endAction = change({
  name: 'end',
  summary: 'End a maintenance window now, or cancel one that has not started',
  positionals: [{ name: 'WINDOW' }] as const,
  nameOf: firstNamed('maintenanceWindows'),
  act: 'Ending',
  method: method.endMaintenanceWindow,
  show: printWindow,
});

function printWindow(context: ActionContext, window: MaintenanceWindow): number {
  return printMessage(context, MaintenanceWindowSchema, window, () =>
    facts([
      ['window', window.name],
      ['state', enumText(MaintenanceWindow_State, window.state)],
      ['covers', coverText(window)],
      ['from', localTime(window.fromUnix)],
      ['until', localTime(window.untilUnix)],
      ['note', window.note],
      ['planned by', fullName(window.createdByDisplayName, window.createdBy)],
      ['ended', localTime(window.endedUnix)],
      ['ended by', fullName(window.endedByDisplayName, window.endedBy)],
    ]),
  );
}

function coverText({
  ruleName,
  ruleDisplayName,
  vmName,
  vmDisplayName,
}: MaintenanceWindow): string {
  const parts = [
    ruleName && `rule ${displayedName(ruleDisplayName, ruleName)}`,
    vmName && `VM ${displayedName(vmDisplayName, vmName)}`,
  ];
  return parts.filter((part) => part !== '').join(', ') || 'everything';
}

export const maintenanceCommand = family('maintenance', 'Periods without notifications', [
  planAction,
  listAction,
  endAction,
]);
