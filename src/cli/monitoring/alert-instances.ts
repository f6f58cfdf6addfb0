/**
 * Actions of `svc alerts` on alert instances: the state of each rule for each VM, and the path of
 * one of them, as recorded or as recomputed over a range of history.
 */

import { quantity } from '../../../streams/alerting/quantity.ts';
import {
  AlertService,
  type ExplainAlertInstanceResponse,
  ExplainAlertInstanceResponseSchema,
} from '../../gen/svc/monitoring/v1/alert_pb.ts';
import {
  type AlertInstance,
  type AlertInstance_Step,
  AlertInstanceSchema,
  AlertInstance_DataState as DataState,
  AlertInstance_Step_Source as Source,
  AlertInstance_State as State,
} from '../../gen/svc/monitoring/v1/rule_pb.ts';
import { type Action, type ActionContext, projectOption } from '../client/action.ts';
import type { Api } from '../client/api.ts';
import { UsageError } from '../client/faults.ts';
import { reads } from '../client/frames.ts';
import { listing, long, minor, moment, right, stateCell } from '../client/listing.ts';
import { projectName, resourceName } from '../client/names.ts';
import { facts, printMessage, table } from '../client/output.ts';
import {
  displayedName,
  enumText,
  fullName,
  localTime,
  NOT_OBSERVED,
  shortName,
} from '../client/texts.ts';
import type { Screen } from '../command.ts';
import { parseLabel } from './alert-spec.ts';
import { ruleAndVmOf, ruleAndVmOptions } from './filters.ts';
import { labelsText } from './incident-texts.ts';

const { method } = AlertService;

const FILTERS = ['rule', 'vm', 'condition', 'data-state'];

const listAction: Action = {
  name: 'instances',
  summary: 'List the state of each rule for each VM, whether or not it is firing',
  options: [
    projectOption,
    ...ruleAndVmOptions,
    {
      name: 'condition',
      takes: 'STATE',
      multiple: true,
      choices: ['IDLE', 'SUSTAINING', 'FIRING'],
      help: 'Only this state',
    },
    {
      name: 'data-state',
      takes: 'STATE',
      choices: ['OBSERVED', 'MISSING'],
      help: 'Only while its data is in this state',
    },
  ],
  run: reads({
    caller: 'any',
    method: method.listAlertInstances,
    every: 'instances',
    async request(context, api) {
      const { input } = context;
      const [dataState = DataState.DATA_STATE_UNSPECIFIED] = input.members('data-state', DataState);
      return {
        projectName: await projectName(context, api),
        ...(await ruleAndVmOf(context, api)),
        states: input.members('condition', State),
        dataState,
      };
    },
    text: ({ instances }, { input, screen }) =>
      instanceTable(
        instances,
        screen,
        FILTERS.some((name) => input.isOn(name))
          ? 'No matching alert instances'
          : 'No rule is evaluated for any VM of this project',
      ),
  }),
};

const showAction: Action = {
  name: 'instance',
  summary: 'Show one alert instance and the path of its state machine',
  positionals: [{ name: 'INSTANCE', optional: true }],
  options: [
    projectOption,
    { name: 'rule', takes: 'NAME', help: 'Its rule, instead of INSTANCE' },
    { name: 'vm', takes: 'NAME', help: 'Its VM' },
    { name: 'label', takes: 'NAME=VALUE', multiple: true, help: 'Its label, such as a mount' },
    { name: 'since', takes: 'TIME', help: 'Recompute its path from this time on' },
    {
      name: 'until',
      takes: 'TIME',
      help: 'End of the recomputed path, at most 24 h later; default now',
    },
  ],
  notes:
    'An instance that never fired has no name: specify its rule and VM. With --since its path is ' +
    'recomputed from stored samples, whether or not it fired.',
  async run(context) {
    const api = context.api('any');
    const { input, ports } = context;
    const instance = await instanceOf(context, api);
    const since = input.time('since');
    if (since === undefined) {
      if (input.isOn('until')) throw new UsageError('--until requires --since');
      const answer = await api.call(method.getAlertInstance, instance);
      return printMessage(context, AlertInstanceSchema, answer, () => instanceText(answer));
    }
    const until = input.time('until') ?? Math.floor(ports.clock.now() / 1000);
    const stretch = { startTimeUnix: BigInt(since), endTimeUnix: BigInt(until) };
    const answer = await api.call(method.explainAlertInstance, { ...instance, ...stretch });
    return printMessage(context, ExplainAlertInstanceResponseSchema, answer, () =>
      recomputedText(answer),
    );
  },
};

export const instanceActions: readonly Action[] = [listAction, showAction];

/** By its name, or by rule, VM and labels. Throws `UsageError` if both or neither are given. */
async function instanceOf(context: ActionContext, api: Api) {
  const { input } = context;
  const given = input.positional(0);
  const [rule, vm] = [input.text('rule'), input.text('vm')];
  if (given !== '' && rule === undefined && vm === undefined) {
    return { name: await named(context, api, 'alertInstances', given) };
  }
  if (given !== '' || rule === undefined || vm === undefined) {
    throw new UsageError(
      'Specify INSTANCE, or --rule and --vm',
      'For example: --rule ID --vm vm-1',
    );
  }
  return {
    ruleName: await named(context, api, 'alertRules', rule),
    vmName: await named(context, api, 'vms', vm),
    labels: Object.fromEntries(input.list('label').map(parseLabel)),
  };
}

function named(context: ActionContext, api: Api, collection: string, given: string) {
  return resourceName(context, api, { collection, given });
}

function instanceTable(
  instances: readonly AlertInstance[],
  screen: Screen | undefined,
  none: string,
): string {
  return listing(
    screen,
    [
      long('rule'),
      long('VM'),
      'state',
      'since',
      'data',
      right('last value'),
      minor('observed'),
      minor('instance'),
    ],
    instances.map((instance) => [
      displayedName(instance.ruleDisplayName, instance.ruleName),
      `${displayedName(instance.vmDisplayName, instance.vmName)}${labelsText(instance.labels)}`,
      stateCell(enumText(State, instance.state)),
      moment(instance.sinceUnix),
      stateCell(enumText(DataState, instance.dataState)),
      valueText(instance.lastValue),
      moment(instance.lastObservedUnix),
      instance.name === '' ? 'never fired' : shortName(instance.name),
    ]),
    none,
  );
}

/** Rounded for people; an instance does not carry the unit of its rule. */
function valueText(value: number | undefined): string {
  return value === undefined ? NOT_OBSERVED : quantity(value, '');
}

function instanceText(instance: AlertInstance): string {
  const { name, ruleName, vmName, labels, state, sinceUnix, dataState, lastValue } = instance;
  const known = facts([
    ['instance', name === '' ? 'never fired' : name],
    ['rule', fullName(instance.ruleDisplayName, ruleName)],
    ['VM', `${fullName(instance.vmDisplayName, vmName)}${labelsText(labels)}`],
    ['state', enumText(State, state)],
    ['since', localTime(sinceUnix)],
    ['data', enumText(DataState, dataState)],
    ['missing since', localTime(instance.missingSinceUnix)],
    ['last value', valueText(lastValue)],
    ['observed', localTime(instance.lastObservedUnix)],
  ]);
  return `${known}\n${pathTable(instance.path)}`;
}

function recomputedText(explanation: ExplainAlertInstanceResponse): string {
  const { ruleName, vmName, labels, segments, path } = explanation;
  const known = facts([
    ['rule', fullName(explanation.ruleDisplayName, ruleName)],
    ['VM', `${fullName(explanation.vmDisplayName, vmName)}${labelsText(labels)}`],
    ['recomputed', 'from stored samples, with the current rule'],
  ]);
  return `${known}\n${segmentTable(segments)}\n${pathTable(path)}`;
}

/** Segments of a recomputed path, one per row. */
export function segmentTable(segments: ExplainAlertInstanceResponse['segments']): string {
  return table(
    ['from', 'to', 'state', 'data', 'started by'],
    segments.map(({ startUnixMs, endUnixMs, state, dataState, cause }) => [
      localTime(startUnixMs / 1000n),
      localTime(endUnixMs / 1000n),
      enumText(State, state),
      enumText(DataState, dataState),
      cause,
    ]),
    'The range is empty',
  );
}

function pathTable(path: readonly AlertInstance_Step[]): string {
  return table(
    ['time', 'event', 'from', 'to', 'source'],
    path.map(({ event, eventUnixMs, fromStates, toStates, source }) => [
      localTime(eventUnixMs / 1000n),
      event,
      statesText(fromStates),
      statesText(toStates),
      enumText(Source, source),
    ]),
    'No steps: the condition has not held',
  );
}

/** Without the machine's name, which is common to all of them. */
function statesText(states: readonly string[]): string {
  return states.map((state) => state.slice(state.indexOf('.') + 1)).join(' ');
}
