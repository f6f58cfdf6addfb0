/**
 * `svc alerts preview`: in which intervals a rule would have fired over stored history. A bounded
 * estimate: nothing is saved and nobody is notified (API-01), so how complete
 * the answer is comes first.
 */
import { create } from '@bufbuild/protobuf';
import {
  AlertService,
  PreviewedHistory_Status as HistoryStatus,
  PreviewAlertRuleRequestSchema,
  type PreviewAlertRuleResponse,
  PreviewAlertRuleResponseSchema,
  PreviewAlertRuleResponse_QueryStatus as QueryStatus,
} from '../../gen/svc/monitoring/v1/alert_pb.ts';
import { type Action, projectOption } from '../client/action.ts';
import { projectName } from '../client/names.ts';
import {
  enumText,
  facts,
  json,
  localTime,
  messageJson,
  shortName,
  table,
} from '../client/output.ts';
import { EXIT_FAULT, EXIT_OK } from '../command.ts';
import { readSpec, specOptions } from './alert-spec.ts';

const HISTORY_SECONDS_DEFAULT = 86_400;

export const previewAction: Action = {
  name: 'preview',
  summary: 'Show when a rule would have fired over stored history',
  options: [
    ...specOptions,
    { name: 'history', takes: 'DURATION', help: 'How far back, at most 7d; default 1d' },
    projectOption,
  ],
  notes: `An estimate over stored samples: it saves nothing and notifies nobody. Look at the statuses and the
counts before you rely on it. Exit code 1 when the query failed.`,
  async run(context) {
    const api = context.api('any');
    const project = await projectName(context, api);
    const spec = await readSpec(context, { api, project, base: undefined });
    const historySeconds = context.input.seconds('history') ?? HISTORY_SECONDS_DEFAULT;
    const request = { projectName: project, spec, historySeconds };
    const preview = await api.call(
      AlertService.method.previewAlertRule,
      create(PreviewAlertRuleRequestSchema, request),
    );
    if (context.json) context.print(json(messageJson(PreviewAlertRuleResponseSchema, preview)));
    else context.print(previewText(preview));
    return preview.queryStatus === QueryStatus.FAILED ? EXIT_FAULT : EXIT_OK;
  },
};

function previewText(preview: PreviewAlertRuleResponse): string {
  const { evaluatedSamples, expectedSamples, truncated } = preview;
  const head = facts([
    ['query', enumText(QueryStatus, preview.queryStatus) || 'unknown'],
    ['history', enumText(HistoryStatus, preview.historyStatus) || 'unknown'],
    ['samples', `${evaluatedSamples} evaluated of ${expectedSamples} expected`],
    ['note', truncated ? 'the list below is not complete' : ''],
  ]);
  const rows = preview.wouldHaveFired.map(({ vmName, labels, startUnix, endUnix }) => [
    shortName(vmName),
    Object.entries(labels)
      .map(([name, value]) => `${name}=${value}`)
      .join(' '),
    localTime(startUnix),
    endUnix === undefined ? 'still' : localTime(endUnix),
  ]);
  const none =
    evaluatedSamples === 0n
      ? 'Nothing was observed, so that nothing is known of what it would have done'
      : 'It would not have fired on what was observed';
  return `${head}\n${table(['VM', 'series', 'from', 'to'], rows, none)}`;
}
