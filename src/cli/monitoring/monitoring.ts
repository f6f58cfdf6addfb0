/** `svc monitoring`: the VMs of a project, the history of one, and PromQL. Read only. */

import { create } from '@bufbuild/protobuf';
import {
  ListVMMonitoringRequestSchema,
  ListVMMonitoringResponseSchema,
  MonitoringService,
  Telemetry_State,
  type VMMonitoring,
  VMMonitoring_State,
} from '../../gen/svc/monitoring/v1/monitoring_pb.ts';
import { type Action, family, projectOption } from '../client/action.ts';
import { projectName } from '../client/names.ts';
import {
  enumText,
  json,
  localTime,
  messageJson,
  NOT_OBSERVED,
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
    });
    const vms: VMMonitoring[] = [];
    let nextPageToken = '';
    do {
      const answer = await api.call(MonitoringService.method.listVMMonitoring, request);
      vms.push(...answer.vms);
      nextPageToken = request.pageToken = answer.nextPageToken;
    } while (pageSize === undefined && nextPageToken !== '');
    if (context.json) {
      const answer = create(ListVMMonitoringResponseSchema, { vms, nextPageToken });
      print(json(messageJson(ListVMMonitoringResponseSchema, answer)));
      return EXIT_OK;
    }
    print(vmTable(vms, input.isOn('inventory-only')));
    if (nextPageToken) context.report(`There are more: --page-token ${nextPageToken}`);
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

export const monitoringCommand = family('monitoring', 'Read VMs, their metrics, and PromQL', [
  vmsAction,
  queryAction,
  promqlAction,
]);
