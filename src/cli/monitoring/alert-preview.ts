/**
 * `svc alerts preview`: when a rule would have fired on stored history, and how complete that
 * history is.
 */
import {
  AlertService,
  PreviewedHistory_Status as HistoryStatus,
  type PreviewAlertRuleResponse,
  PreviewAlertRuleResponseSchema,
  PreviewAlertRuleResponse_QueryStatus as QueryStatus,
} from '../../gen/svc/monitoring/v1/alert_pb.ts';
import {
  AlertInstance_DataState,
  AlertInstance_State,
} from '../../gen/svc/monitoring/v1/rule_pb.ts';
import { type Action, projectOption } from '../client/action.ts';
import { UsageError } from '../client/faults.ts';
import { resourceName } from '../client/names.ts';
import { facts, printMessage, table } from '../client/output.ts';
import { displayedName, enumText, localTime } from '../client/texts.ts';
import { EXIT_FAULT, EXIT_OK } from '../command.ts';
import { segmentTable } from './alert-instances.ts';
import { historyOptions, parseLabel, readTrial, seriesText } from './alert-spec.ts';

export const previewAction: Action = {
  name: 'preview',
  summary: 'Show when a rule would have fired on stored history',
  options: [
    ...historyOptions('7d'),
    { name: 'instances', help: 'Also print each VM or series and how often it would have fired' },
    { name: 'trace', takes: 'VM', help: 'Also print the path of this VM for at most its last day' },
    {
      name: 'trace-label',
      takes: 'NAME=VALUE',
      multiple: true,
      help: 'A label of the traced series, such as its mount',
    },
    projectOption,
  ],
  notes: `An estimate based on stored samples: nothing is saved, and no notifications are sent. Check the
statuses and counts before you rely on it. Exit code 1 if the query failed.`,
  async run(context) {
    const api = context.api('any');
    const { input } = context;
    const trial = await readTrial(context, api);
    const given = input.text('trace');
    const traced = given && (await resourceName(context, api, { collection: 'vms', given }));
    if (!traced && input.isOn('trace-label'))
      throw new UsageError('--trace-label requires --trace');
    const request = {
      ...trial,
      traceVmName: traced ?? '',
      traceLabels: Object.fromEntries(input.list('trace-label').map(parseLabel)),
      withInstances: input.isOn('instances'),
    };
    const preview = await api.call(AlertService.method.previewAlertRule, request);
    printMessage(context, PreviewAlertRuleResponseSchema, preview, () =>
      previewText(preview, request),
    );
    return preview.queryStatus === QueryStatus.FAILED ? EXIT_FAULT : EXIT_OK;
  },
};

function previewText(
  preview: PreviewAlertRuleResponse,
  { withInstances, traceVmName }: { withInstances: boolean; traceVmName: string },
): string {
  const { evaluatedSamples, expectedSamples, truncated, trace } = preview;
  const head = facts([
    ['query', enumText(QueryStatus, preview.queryStatus) || 'unknown'],
    ['history', enumText(HistoryStatus, preview.historyStatus) || 'unknown'],
    ['samples', `${evaluatedSamples} evaluated of ${expectedSamples} expected`],
    ['no data', unknownText(preview)],
    ['note', truncated ? 'the list below is incomplete' : ''],
  ]);
  const rows = preview.wouldHaveFired.map(
    ({ vmName, vmDisplayName, labels, startUnix, endUnix }) => [
      displayedName(vmDisplayName, vmName),
      seriesText(labels),
      localTime(startUnix),
      endUnix === undefined ? 'still' : localTime(endUnix),
    ],
  );
  const none =
    evaluatedSamples === 0n
      ? 'Nothing was observed, so it is unknown whether the rule would have fired'
      : 'The rule would not have fired on the observed samples';
  return [
    `${head}\n${table(['VM', 'series', 'from', 'to'], rows, none)}`,
    ...(withInstances ? [instancesText(preview)] : []),
    ...(trace
      ? [
          `Trace of ${displayedName(trace.vmDisplayName, trace.vmName)}\n${segmentTable(trace.segments)}`,
        ]
      : []),
    ...(traceVmName !== '' && !trace ? ['The history for the trace could not be read\n'] : []),
  ].join('\n');
}

/** Empty if there is data for every VM. */
function unknownText(preview: PreviewAlertRuleResponse): string {
  const { unknownVms, unknownVmNames, unknownVmDisplayNames } = preview;
  if (unknownVms === 0n) return '';
  const more = unknownVms - BigInt(unknownVmNames.length);
  const names = unknownVmNames
    .map((name, i) => displayedName(unknownVmDisplayNames[i] ?? '', name))
    .join(', ');
  return more > 0n ? `${names} and ${more} more` : names;
}

function instancesText({ instances, instancesOmitted }: PreviewAlertRuleResponse): string {
  const rows = instances.map(({ vmName, vmDisplayName, labels, firings, segments }) => [
    displayedName(vmDisplayName, vmName),
    seriesText(labels),
    String(firings),
    enumText(AlertInstance_State, segments.at(-1)?.state ?? 0),
    segments.at(-1)?.dataState === AlertInstance_DataState.MISSING ? 'missing' : 'observed',
  ]);
  const columns = ['VM', 'series', 'times fired', 'at the end', 'data'];
  const list = table(columns, rows, 'No VM has values of this metric');
  return instancesOmitted > 0n ? `${list}${instancesOmitted} more are not listed\n` : list;
}
