/**
 * `svc alerts preview`: in which intervals a rule would have fired over stored history. A bounded
 * estimate: nothing is saved and nobody is notified (interface, section 4, rule 1), so how complete
 * the answer is comes first.
 */
import { type DescMethodUnary, fromJson, type JsonObject, toJson } from '@bufbuild/protobuf';
import { StructSchema } from '@bufbuild/protobuf/wkt';
import { AlertRuleSpecSchema, AlertService } from '../../gen/svc/monitoring/v1/alert_pb.ts';
import { type Action, projectOption } from '../client/action.ts';
import { projectName } from '../client/names.ts';
import { facts, json, localTime, shortName, table } from '../client/output.ts';
import { EXIT_FAULT, EXIT_OK } from '../command.ts';
import { readSpec, specOptions } from './alert-spec.ts';

/**
 * Messages as the interface writes them: JSON objects. A service that does not preview answers
 * `unimplemented`, and this command says so.
 */
const previewMethod: DescMethodUnary<typeof StructSchema, typeof StructSchema> = {
  ...AlertService.method.listAlertRules,
  name: 'PreviewAlertRule',
  localName: 'previewAlertRule',
  input: StructSchema,
  output: StructSchema,
};

const HISTORY_SECONDS_DEFAULT = 86_400;

/** The answer, as the API's JSON. Counts are int64: decimal strings. */
interface Preview {
  readonly queryStatus?: string;
  readonly historyStatus?: string;
  readonly evaluatedSamples?: string;
  readonly expectedSamples?: string;
  readonly truncated?: boolean;
  readonly wouldHaveFired?: readonly {
    readonly vmName: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly startUnix: string;
    readonly endUnix?: string;
  }[];
}

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
    const spec = await readSpec(context, { project, base: undefined });
    const request: JsonObject = {
      projectName: project,
      spec: toJson(AlertRuleSpecSchema, spec),
      historySeconds: context.input.seconds('history') ?? HISTORY_SECONDS_DEFAULT,
    };
    const answer = await api.call(previewMethod, fromJson(StructSchema, request));
    // Shape of the interface; every field may be missing and is then shown as not told.
    const preview = toJson(StructSchema, answer) as Preview;
    context.print(context.json ? json(preview) : previewText(preview));
    return preview.queryStatus === 'FAILED' ? EXIT_FAULT : EXIT_OK;
  },
};

function previewText(preview: Preview): string {
  const { queryStatus, historyStatus, evaluatedSamples, expectedSamples, truncated } = preview;
  const head = facts([
    ['query', queryStatus ?? 'not told'],
    ['history', historyStatus ?? 'not told'],
    ['samples', `${evaluatedSamples ?? '?'} evaluated of ${expectedSamples ?? '?'} expected`],
    ['note', truncated ? 'the list below is not complete' : ''],
  ]);
  const rows = (preview.wouldHaveFired ?? []).map(({ vmName, labels = {}, startUnix, endUnix }) => [
    shortName(vmName),
    Object.entries(labels)
      .map(([name, value]) => `${name}=${value}`)
      .join(' '),
    localTime(Number(startUnix)),
    endUnix ? localTime(Number(endUnix)) : 'still',
  ]);
  const none = 'It would not have fired on what was observed';
  return `${head}\n${table(['VM', 'series', 'from', 'to'], rows, none)}`;
}
