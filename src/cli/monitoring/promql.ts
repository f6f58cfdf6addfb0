/**
 * `svc monitoring promql`: one expression at the read-only PromQL URL. Values are shown as the
 * service wrote them, digit by digit; what a query does not answer is not shown at all.
 */
import { type Action, type ActionContext, projectOption } from '../client/action.ts';
import { askPlainly, type PlainAnswer } from '../client/api.ts';
import { EXIT_DENIED, EXIT_UNCERTAIN, Fault, UsageError } from '../client/faults.ts';
import { givenProject } from '../client/names.ts';
import { json, localTime, table } from '../client/output.ts';
import { EXIT_FAULT, EXIT_OK } from '../command.ts';
import { rangeOf, rangeOptions } from './query.ts';

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

export const promqlAction: Action = {
  name: 'promql',
  summary: 'Evaluate a PromQL expression',
  positionals: [{ name: 'EXPRESSION' }],
  options: [
    { name: 'time', takes: 'TIME', help: 'Time of an instant query; default now' },
    ...rangeOptions,
    { ...projectOption, help: 'Project id; else SVC_PROJECT' },
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
    throw new Fault('PromQL needs a key', {
      exitCode: EXIT_DENIED,
      hint: 'Put a key with monitoring.read into SVC_API_KEY; "svc keys create" makes one',
    });
  }
  const project = givenProject(context);
  if (!project) throw new UsageError('Give --project or SVC_PROJECT');
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
  });
}

function parseEnvelope({ status, text }: PlainAnswer): Envelope {
  try {
    const parsed: unknown = JSON.parse(text);
    if (typeof parsed === 'object' && parsed !== null && 'status' in parsed) {
      return parsed as Envelope;
    }
  } catch {
    // Reported below, as any other answer that is not of a PromQL URL.
  }
  throw new Fault(`The answer (HTTP ${status}) is not one of a PromQL URL`, {
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
    hint: retryAfter === null ? undefined : `Ask again in ${retryAfter} s`,
  });
}

function resultTable({ data }: Envelope): string {
  const none = 'No series: nothing of this kind was observed at that time';
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
