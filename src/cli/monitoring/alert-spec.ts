/**
 * Alert rules from the command line: a JSON document in the API's format, flags, or both; flags
 * win. The service rejects incomplete rules.
 */
import { readFileSync } from 'node:fs';
import { clone, create, fromJson, type JsonValue } from '@bufbuild/protobuf';
import { parseQuantity } from '../../../streams/alerting/quantity.ts';
import { metricCatalogue } from '../../../streams/telemetry/metrics/catalogue.ts';
import {
  type AlertRuleSpec,
  AlertRuleSpec_Operator,
  AlertRuleSpec_Severity,
  AlertRuleSpecSchema,
} from '../../gen/svc/monitoring/v1/rule_pb.ts';
import type { ActionContext } from '../client/action.ts';
import type { Api } from '../client/api.ts';
import type { Input, Option } from '../client/arguments.ts';
import { OPERATOR_SYMBOLS } from '../client/condition-text.ts';
import { UsageError } from '../client/faults.ts';
import { projectName, resourceNames } from '../client/names.ts';
import { namesOf } from '../client/texts.ts';
import { templateSpec } from './alert-templates.ts';

const OPERATORS = namesOf(AlertRuleSpec_Operator);
const SEVERITIES = namesOf(AlertRuleSpec_Severity);

const OPERATOR_ALIASES = {
  ...Object.fromEntries(Object.entries(OPERATOR_SYMBOLS).map(([name, symbol]) => [symbol, name])),
  '==': 'EQUAL',
};

export const specOptions: readonly Option[] = [
  { name: 'file', takes: 'FILE', help: 'Specification as JSON; - reads standard input' },
  { name: 'template', takes: 'ID', help: 'Start from this template of "svc alerts templates"' },
  { name: 'name', takes: 'TEXT', help: 'Display name' },
  { name: 'metric', takes: 'ID', help: 'Metric id, such as cpu_utilization_pct' },
  {
    name: 'operator',
    takes: 'OPERATOR',
    choices: OPERATORS,
    aliases: OPERATOR_ALIASES,
    help: "Comparison of readings with the threshold; also as '>', '>=', '<', '<=', '=', '!='",
  },
  {
    name: 'threshold',
    takes: 'NUMBER',
    help: 'Value to compare with, also with a unit: 90 %, 2GiB, 500MB/s',
  },
  { name: 'for', takes: 'DURATION', help: 'How long the condition must hold, for example 5m' },
  { name: 'severity', takes: 'SEVERITY', choices: SEVERITIES, help: 'Severity of its incidents' },
  { name: 'all-vms', help: 'All current and future VMs of the project' },
  { name: 'vm', takes: 'NAME', multiple: true, help: 'Only these VMs: names or ids' },
  {
    name: 'pause',
    help: 'Save it paused: its firing incidents are retired without a recovery',
  },
  { name: 'enable', help: 'Save it enabled' },
  { name: 'repeat', takes: 'DURATION', help: 'Interval of reminders; 0 for none' },
  {
    name: 'destination',
    takes: 'NAME',
    multiple: true,
    help: 'Destination to notify, name or id; "" for none',
  },
  {
    name: 'recovery-threshold',
    takes: 'NUMBER',
    help: 'Threshold for recovery; default: the threshold',
  },
  {
    name: 'recovery-for',
    takes: 'DURATION',
    help: 'How long readings must be good before recovery',
  },
  { name: 'label', takes: 'NAME=VALUE', multiple: true, help: 'Label of its incidents' },
  { name: 'runbook', takes: 'TEXT', help: 'What to do when it fires; "" removes it' },
  { name: 'runbook-url', takes: 'URL', help: 'Link to its runbook; "" removes it' },
];

/** Options of a rule that is tried on stored history of limited length. */
export function historyOptions(longest: string): readonly Option[] {
  const help = `Length of the history, at most ${longest}; default 1d`;
  return [...specOptions, { name: 'history', takes: 'DURATION', help }];
}

const HISTORY_SECONDS_DEFAULT = 86_400;
const NAME_ON_TRIAL = 'Rule on trial';

/** A rule to try on stored history: its project, its specification and the length. */
export async function readTrial(context: ActionContext, api: Api) {
  const project = await projectName(context, api);
  const spec = await readSpec(context, { api, project, base: undefined });
  // Nothing is saved: the name appears only in the messages of a replay.
  spec.displayName ||= NAME_ON_TRIAL;
  return {
    projectName: project,
    spec,
    historySeconds: context.input.seconds('history') ?? HISTORY_SECONDS_DEFAULT,
  };
}

/** Labels of a series: `device=vda`. */
export function seriesText(labels: Readonly<Record<string, string>>): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}=${value}`)
    .join(' ');
}

/** The base of a specification. */
interface SpecSource {
  readonly api: Api;
  /** `projects/p`. */
  readonly project: string;
  readonly base: AlertRuleSpec | undefined;
}

/**
 * The requested specification, on top of `base` (the current rule of an edit). Throws `UsageError`.
 */
export async function readSpec(context: ActionContext, source: SpecSource): Promise<AlertRuleSpec> {
  const { input } = context;
  const spec = withFlags(await startOf(context, source), input);
  const named = (collection: string, option: string) =>
    resourceNames(context, source.api, collection, input.list(option));
  if (input.isOn('vm')) {
    Object.assign(spec, { allVms: false, vmNames: await named('vms', 'vm') });
  }
  if (input.isOn('destination')) {
    const isNone = input.list('destination').join() === '';
    spec.destinationNames = isNone ? [] : await named('destinations', 'destination');
  }
  return spec;
}

/**
 * The specification to which flags are applied: a template, a file, the current rule, or an empty
 * one.
 */
async function startOf(
  { input, ports }: Pick<ActionContext, 'input' | 'ports'>,
  { api, project, base }: SpecSource,
): Promise<AlertRuleSpec> {
  const file = input.text('file');
  const template = input.text('template');
  if (template !== undefined && (file !== undefined || base)) {
    throw new UsageError(
      '--template starts a new rule. Do not combine it with --file or a rule to edit',
    );
  }
  if (template !== undefined) {
    const spec = await templateSpec(api, project, template);
    return clone(AlertRuleSpecSchema, spec);
  }
  if (file !== undefined) {
    const text = file === '-' ? await ports.readInput() : readFile(file);
    return parseSpec(text);
  }
  if (!base && !input.isOn('metric')) {
    throw new UsageError('Start a rule with --template, --file, or --metric and its condition');
  }
  return base ? clone(AlertRuleSpecSchema, base) : create(AlertRuleSpecSchema);
}

function readFile(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new UsageError(`--file ${path} could not be read: ${(error as Error).message}`);
  }
}

function parseSpec(text: string): AlertRuleSpec {
  try {
    // A misspelt field must not be ignored: the result would be a rule that watches nothing.
    return fromJson(AlertRuleSpecSchema, JSON.parse(text) as JsonValue, {
      ignoreUnknownFields: false,
    });
  } catch (error) {
    throw new UsageError(`The specification is invalid: ${(error as Error).message}`);
  }
}

function withFlags(spec: AlertRuleSpec, input: Input): AlertRuleSpec {
  if (input.isOn('pause') && input.isOn('enable')) {
    throw new UsageError('--pause and --enable cannot be combined');
  }
  if (input.isOn('all-vms') && input.isOn('vm')) {
    throw new UsageError('--all-vms and --vm cannot be combined');
  }
  spec.displayName = input.text('name') ?? spec.displayName;
  spec.metricId = input.text('metric') ?? spec.metricId;
  spec.operator = enumValue(AlertRuleSpec_Operator, input.text('operator')) ?? spec.operator;
  spec.severity = enumValue(AlertRuleSpec_Severity, input.text('severity')) ?? spec.severity;
  spec.sustainedSeconds = input.seconds('for') ?? spec.sustainedSeconds;
  spec.runbookText = input.text('runbook') ?? spec.runbookText;
  spec.runbookUrl = input.text('runbook-url') ?? spec.runbookUrl;
  spec.repeatIntervalSeconds = input.seconds('repeat') ?? spec.repeatIntervalSeconds;
  setOptional(spec, input);
  if (input.isOn('all-vms')) Object.assign(spec, { allVms: true, vmNames: [] });
  if (input.isOn('label')) spec.labels = Object.fromEntries(input.list('label').map(parseLabel));
  return spec;
}

/** Fields whose absence has its own meaning. */
function setOptional(spec: AlertRuleSpec, input: Input): void {
  const threshold = thresholdIn(spec, input, 'threshold');
  const recoveryThreshold = thresholdIn(spec, input, 'recovery-threshold');
  const recoverySeconds = input.seconds('recovery-for');
  if (threshold !== undefined) spec.threshold = threshold;
  if (recoveryThreshold !== undefined) spec.recoveryThreshold = recoveryThreshold;
  if (recoverySeconds !== undefined) spec.recoverySeconds = recoverySeconds;
  if (input.isOn('pause')) spec.enabled = false;
  if (input.isOn('enable')) spec.enabled = true;
}

/** A value in the metric's unit. Throws `UsageError` for a unit of another kind. */
function thresholdIn(
  { metricId }: AlertRuleSpec,
  input: Input,
  option: string,
): number | undefined {
  const text = input.text(option);
  if (text === undefined) return undefined;
  const parsed = parseQuantity(text);
  if (!parsed) {
    throw new UsageError(
      `--${option} must be a number, or a number with a unit such as 2GiB, not ${JSON.stringify(text)}`,
    );
  }
  const unit = metricCatalogue.get(metricId)?.unit ?? '';
  if (parsed.unit === '' || parsed.unit === unit) return parsed.value;
  throw new UsageError(
    `--${option} ${text} is in ${inWords(parsed.unit)}, but ${metricId || 'the metric'} is in ${inWords(unit)}`,
  );
}

function inWords(unit: string): string {
  return unit === '' ? 'another unit' : unit.replaceAll('_', ' ');
}

export function parseLabel(text: string): [string, string] {
  const place = text.indexOf('=');
  if (place < 1) throw new UsageError(`--label must be NAME=VALUE, not ${JSON.stringify(text)}`);
  return [text.slice(0, place), text.slice(place + 1)];
}

/** The choices of an option are the names of its enum. */
function enumValue<V extends number>(
  values: Readonly<Record<string, V>>,
  name: string | undefined,
): V | undefined {
  return name === undefined ? undefined : values[name];
}
