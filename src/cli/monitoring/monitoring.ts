/** `svc monitoring`: the VMs of a project, the history of one, and PromQL. Read only. */

import { create } from '@bufbuild/protobuf';
import {
  type ExpandedMonitoring,
  ExpandedMonitoring_State,
  ListVMMonitoringRequestSchema,
  ListVMMonitoringResponseSchema,
  MonitoringService,
  Telemetry_State,
  type VMMonitoring,
  VMMonitoring_State,
  VMMonitoringSchema,
} from '../../gen/svc/monitoring/v1/monitoring_pb.ts';
import { type Action, family, projectOption } from '../client/action.ts';
import { projectName, resourceName } from '../client/names.ts';
import {
  enumText,
  facts,
  json,
  localTime,
  messageJson,
  NOT_OBSERVED,
  printMessage,
  shortName,
  table,
} from '../client/output.ts';
import { EXIT_OK } from '../command.ts';
import { promqlAction } from './promql.ts';
import { queryAction } from './query.ts';

const PAGE_SIZE = 500;

const vmsAction: Action = {
  name: 'vms',
  summary: 'List the VMs with their latest readings',
  options: [
    projectOption,
    { name: 'inventory-only', help: 'Without readings: quicker' },
    { name: 'search', takes: 'TEXT', help: 'Only VMs whose id or name has this text' },
    {
      ...{ name: 'power', takes: 'STATE', multiple: true },
      ...{ choices: ['RUNNING', 'PAUSED', 'STOPPED', 'CRASHED', 'UNKNOWN'] },
      help: 'Only this state',
    },
    { name: 'datacenter', takes: 'NAME', help: 'Only this data center' },
    {
      name: 'page-token',
      takes: 'TOKEN',
      help: 'Page token of an earlier answer: show the next page',
    },
    { name: 'page-size', takes: 'N', help: 'At most this many VMs, 1 to 1000; default: all' },
  ],
  notes: `"${NOT_OBSERVED}" stands for what was not observed within the last 90 seconds; it is not a zero.`,
  async run(context) {
    const { input, print } = context;
    const api = context.api('any');
    const pageSize = input.number('page-size');
    const request = create(ListVMMonitoringRequestSchema, {
      projectName: await projectName(context, api),
      pageSize: pageSize ?? PAGE_SIZE,
      inventoryOnly: input.isOn('inventory-only'),
      pageToken: input.text('page-token') ?? '',
      ...{ search: input.text('search') ?? '', datacenter: input.text('datacenter') ?? '' },
      states: input.members('power', VMMonitoring_State),
    });
    const vms: VMMonitoring[] = [];
    let nextPageToken = '';
    let totalSize = 0;
    do {
      const answer = await api.call(MonitoringService.method.listVMMonitoring, request);
      vms.push(...answer.vms);
      totalSize = answer.totalSize;
      nextPageToken = request.pageToken = answer.nextPageToken;
    } while (pageSize === undefined && nextPageToken !== '');
    if (context.json) {
      const answer = create(ListVMMonitoringResponseSchema, { vms, nextPageToken, totalSize });
      print(json(messageJson(ListVMMonitoringResponseSchema, answer)));
      return EXIT_OK;
    }
    print(vmTable(vms, input.isOn('inventory-only')));
    if (nextPageToken) {
      context.report(`These are ${vms.length} of ${totalSize}: --page-token ${nextPageToken}`);
    }
    return EXIT_OK;
  },
};

function vmTable(vms: readonly VMMonitoring[], inventoryOnly: boolean): string {
  const right = (title: string) => ({ title, align: 'right' as const });
  const readings = inventoryOnly ? [] : [right('CPU %'), right('memory MiB')];
  return table(
    [
      'VM',
      'name',
      'state',
      'data center',
      right('vCPUs'),
      'telemetry',
      'last observed',
      ...readings,
    ],
    vms.map((vm) => [
      shortName(vm.name),
      vm.displayName,
      enumText(VMMonitoring_State, vm.state),
      vm.datacenter,
      vm.vcpus === undefined ? NOT_OBSERVED : String(vm.vcpus),
      enumText(Telemetry_State, vm.telemetry?.state ?? 0),
      localTime(vm.telemetry?.lastObservedUnix) || NOT_OBSERVED,
      ...(inventoryOnly
        ? []
        : [reading(vm.cpuUtilizationPct, 1), reading(vm.memoryUsedBytes, MIB)]),
    ]),
    'There are no VMs in this project',
  );
}

const MIB = 1024 * 1024;

function reading(value: number | undefined, unit: number): string {
  return value === undefined ? NOT_OBSERVED : (value / unit).toFixed(1);
}

const showAction: Action = {
  name: 'show',
  summary: 'Show one VM: telemetry, latest readings, and expanded monitoring',
  positionals: [{ name: 'VM' }],
  options: [projectOption],
  async run(context) {
    const api = context.api('any');
    const given = context.input.positional(0);
    const name = await resourceName(context, api, { collection: 'vms', given });
    const vm = await api.call(MonitoringService.method.getVMMonitoring, { name });
    return printMessage(context, VMMonitoringSchema, vm, () => vmText(vm));
  },
};

function vmText(vm: VMMonitoring): string {
  const { telemetry, expanded, vcpus, cpuUtilizationPct, memoryUsedBytes } = vm;
  return facts([
    ...([
      ['VM', vm.name],
      ['name', vm.displayName],
      ['data center', vm.datacenter],
    ] as const),
    ['state', enumText(VMMonitoring_State, vm.state)],
    ['telemetry', enumText(Telemetry_State, telemetry?.state ?? 0)],
    ['last observed', localTime(telemetry?.lastObservedUnix) || NOT_OBSERVED],
    ['vCPUs', vcpus === undefined ? NOT_OBSERVED : String(vcpus)],
    ['CPU %', reading(cpuUtilizationPct, 1)],
    ['memory MiB', reading(memoryUsedBytes, MIB)],
    ['expanded monitoring', expanded ? expandedText(expanded) : NOT_OBSERVED],
  ]);
}

function expandedText({
  available,
  reason,
  state,
  tokenExpiresUnix,
  lastObservedUnix,
}: ExpandedMonitoring): string {
  const until = tokenExpiresUnix ? `, token until ${localTime(tokenExpiresUnix)}` : '';
  const last = lastObservedUnix ? `, last observed ${localTime(lastObservedUnix)}` : '';
  const why = available ? '' : `, not available (${reason})`;
  return `${enumText(ExpandedMonitoring_State, state)}${until}${last}${why}`;
}

export const monitoringCommand = family('monitoring', 'Read VMs, their metrics, and PromQL', [
  vmsAction,
  showAction,
  queryAction,
  promqlAction,
]);
