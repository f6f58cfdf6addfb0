/** `svc monitoring`: the VMs of a project, the history of a VM, and PromQL. Read-only. */
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
} from '../../gen/svc/monitoring/v1/monitoring_pb.ts';
import { type Action, type ActionContext, family, projectOption } from '../client/action.ts';
import { askPlainly, type PlainAnswer, SERVICE_AWAY } from '../client/api.ts';
import { EXIT_DENIED, EXIT_UNCERTAIN, Fault, UsageError } from '../client/faults.ts';
import { ofFirst, reads } from '../client/frames.ts';
import { listing, long, minor, moment, relativeTime, right, stateCell } from '../client/listing.ts';
import { givenProject, projectName } from '../client/names.ts';
import { facts, json, messageDocument, table } from '../client/output.ts';
import { enumText, localTime, NOT_OBSERVED, shortName } from '../client/texts.ts';
import { EXIT_FAULT, EXIT_OK, type Screen } from '../command.ts';
import { queryAction, rangeOf, rangeOptions } from './query.ts';

const PAGE_SIZE = 500;

const vmsAction: Action = {
  name: 'vms',
  summary: 'List the VMs with their latest readings',
  options: [
    projectOption,
    { name: 'inventory-only', help: 'Omit readings, which is faster' },
    { name: 'search', takes: 'TEXT', help: 'Only VMs whose id or name contains this text' },
    {
      name: 'power',
      takes: 'STATE',
      multiple: true,
      choices: ['RUNNING', 'PAUSED', 'STOPPED', 'CRASHED', 'UNKNOWN'],
      help: 'Only this current state; silent VMs are UNKNOWN',
    },
    { name: 'datacenter', takes: 'NAME', help: 'Only this data center' },
    {
      name: 'page-token',
      takes: 'TOKEN',
      help: 'Token of the next page, from an earlier response',
    },
    { name: 'page-size', takes: 'N', help: 'At most this many VMs, 1 to 1000; default: all' },
  ],
  notes: `"${NOT_OBSERVED}" means not observed within the last 90 seconds; it is not zero.`,
  async run(context) {
    const { input, print } = context;
    const api = context.api('any');
    const pageSize = input.number('page-size');
    const request = create(ListVMMonitoringRequestSchema, {
      projectName: await projectName(context, api),
      pageSize: pageSize ?? PAGE_SIZE,
      inventoryOnly: input.isOn('inventory-only'),
      pageToken: input.text('page-token') ?? '',
      search: input.text('search') ?? '',
      datacenter: input.text('datacenter') ?? '',
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
      const answer = { vms, nextPageToken, totalSize };
      print(messageDocument(ListVMMonitoringResponseSchema, answer));
      return EXIT_OK;
    }
    print(vmTable(vms, input.isOn('inventory-only'), context.screen));
    if (nextPageToken) {
      context.report(
        `Showing ${vms.length} of ${totalSize}. Next page: --page-token ${nextPageToken}`,
      );
    }
    return EXIT_OK;
  },
};

function vmTable(
  vms: readonly VMMonitoring[],
  inventoryOnly: boolean,
  screen: Screen | undefined,
): string {
  const readings = inventoryOnly ? [] : [right('CPU %'), right('memory MiB')];
  return listing(
    screen,
    [
      long('name'),
      'state',
      'seen',
      long('data center'),
      right('vCPUs'),
      'telemetry',
      minor('observed'),
      ...readings,
      minor('VM'),
    ],
    vms.map((vm) => [
      vm.displayName || shortName(vm.name),
      stateCell(stateText(vm)),
      moment(vm.stateObservedUnix, NOT_OBSERVED),
      vm.datacenter,
      vm.vcpus === undefined ? NOT_OBSERVED : String(vm.vcpus),
      stateCell(enumText(Telemetry_State, vm.telemetry?.state ?? 0)),
      moment(vm.telemetry?.lastObservedUnix, NOT_OBSERVED),
      ...(inventoryOnly
        ? []
        : [reading(vm.cpuUtilizationPct, 1), reading(vm.memoryUsedBytes, MIB)]),
      shortName(vm.name),
    ]),
    'No VMs in this project',
  );
}

/** `RUNNING`, or `UNKNOWN, last RUNNING` for a VM whose state is no longer known. */
function stateText({ state, lastState }: VMMonitoring): string {
  const now = enumText(VMMonitoring_State, state);
  const isOld = state === VMMonitoring_State.UNKNOWN && lastState !== undefined;
  return isOld ? `${now}, last ${enumText(VMMonitoring_State, lastState)}` : now;
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
  run: reads({
    caller: 'any',
    method: MonitoringService.method.getVMMonitoring,
    request: ofFirst('vms'),
    text: (vm, { ports }) => vmText(vm, ports.clock.now()),
  }),
};

function vmText(vm: VMMonitoring, nowMs: number): string {
  const { telemetry, expanded, vcpus, cpuUtilizationPct, memoryUsedBytes } = vm;
  const age = relativeTime(vm.stateObservedUnix, nowMs);
  return facts([
    ...([
      ['VM', vm.name],
      ['name', vm.displayName],
      ['data center', vm.datacenter],
    ] as const),
    ['state', stateText(vm)],
    ['state observed', age ? `${age}, ${localTime(vm.stateObservedUnix)}` : NOT_OBSERVED],
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

type Point = readonly [number, string];

interface Found {
  readonly metric: Readonly<Record<string, string>>;
  readonly value?: Point;
  readonly values?: readonly Point[];
}

/** The envelope of the Prometheus HTTP API. */
interface Envelope {
  readonly status: string;
  readonly data?: { readonly resultType: string; readonly result: unknown };
  readonly error?: string;
  readonly errorType?: string;
  readonly warnings?: readonly string[];
  readonly infos?: readonly string[];
}

/**
 * `svc monitoring promql`: one expression at the read-only PromQL URL. Values are printed exactly
 * as the service sent them; missing values are not printed.
 */
const promqlAction: Action = {
  name: 'promql',
  summary: 'Evaluate a PromQL expression',
  positionals: [{ name: 'EXPRESSION' }],
  options: [
    { name: 'time', takes: 'TIME', help: 'Time of an instant query; default now' },
    ...rangeOptions,
    { ...projectOption, help: 'Project id; default: SVC_PROJECT' },
  ],
  notes: `
With --last, --start or --step it is a range query, otherwise an instant query. This URL accepts
only keys: put one into SVC_API_KEY. A missing series or point was not observed; it is never zero.
`,
  async run(context) {
    const answer = await ask(context);
    const envelope = parseEnvelope(answer);
    if (envelope.status !== 'success') throw faultOf(answer, envelope);
    for (const note of [...(envelope.warnings ?? []), ...(envelope.infos ?? [])])
      context.report(note);
    context.print(context.json ? json(envelope) : resultTable(envelope));
    return EXIT_OK;
  },
};

async function ask(context: ActionContext): Promise<PlainAnswer> {
  const { input, environment, timeoutMs } = context;
  if (!environment.SVC_API_KEY) {
    throw new Fault('PromQL requires a key', {
      exitCode: EXIT_DENIED,
      hint: 'Set SVC_API_KEY to a key with monitoring.read; "svc keys create" creates one',
    });
  }
  const project = givenProject(context);
  if (!project) throw new UsageError('Set --project or SVC_PROJECT');
  const isRange = ['last', 'start', 'step'].some((name) => input.isOn(name));
  const form = new URLSearchParams({ query: input.positional(0) });
  if (isRange) {
    const { startUnix, endUnix, stepSeconds } = rangeOf(context);
    form.set('start', String(startUnix));
    form.set('end', String(endUnix));
    form.set('step', String(stepSeconds));
  } else if (input.time('time') !== undefined) form.set('time', String(input.time('time')));
  const { endpoint, headers } = context.access('any');
  return askPlainly({
    // In the body, because an expression may be longer than a URL.
    method: 'POST',
    url: `${endpoint}/v1/monitoring/${project}/promql/api/v1/${isRange ? 'query_range' : 'query'}`,
    headers: { ...headers(), 'content-type': 'application/x-www-form-urlencoded' },
    body: form.toString(),
    timeoutMs,
    ifUnreached: SERVICE_AWAY,
  });
}

function parseEnvelope({ status, text }: PlainAnswer): Envelope {
  try {
    const parsed: unknown = JSON.parse(text);
    if (typeof parsed === 'object' && parsed !== null && 'status' in parsed) {
      return parsed as Envelope;
    }
  } catch {
    // Reported below like any other response that is not from a PromQL URL.
  }
  throw new Fault(`The response (HTTP ${status}) is not from a PromQL URL`, {
    hint: 'Check the address given with --endpoint or SVC_ENDPOINT',
  });
}

const EXIT_OF: Readonly<Record<number, number>> = {
  401: EXIT_DENIED,
  403: EXIT_DENIED,
  503: EXIT_UNCERTAIN,
};

function faultOf({ status, headers }: PlainAnswer, { error, errorType }: Envelope): Fault {
  const retryAfter = headers.get('retry-after');
  return new Fault(`${errorType ?? `HTTP ${status}`}: ${error ?? 'no message was given'}`, {
    exitCode: EXIT_OF[status] ?? EXIT_FAULT,
    hint: retryAfter === null ? undefined : `Retry in ${retryAfter} s`,
  });
}

function resultTable({ data }: Envelope): string {
  const none = 'No series: nothing was observed at that time';
  const columns = ['series', 'time', { title: 'value', align: 'right' as const }];
  if (data?.resultType === 'scalar' || data?.resultType === 'string') {
    const [time, value] = data.result as Point;
    return table(columns, [['', localTime(time), value]], none);
  }
  const rows = ((data?.result ?? []) as readonly Found[]).flatMap(({ metric, value, values }) =>
    (values ?? (value ? [value] : [])).map(([time, text]) => [
      seriesText(metric),
      localTime(time),
      text,
    ]),
  );
  return table(columns, rows, none);
}

function seriesText({ __name__: name = '', ...labels }: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map(([label, value]) => `${label}=${JSON.stringify(value)}`);
  return pairs.length > 0 ? `${name}{${pairs.join(', ')}}` : name || '{}';
}

export const monitoringCommand = family('monitoring', 'Read VMs, their metrics, and PromQL', [
  vmsAction,
  showAction,
  queryAction,
  promqlAction,
]);
