/** The dialog for planning a maintenance window. Input survives a reload. */
import type { VNode } from 'preact';
import type { DialogFrame } from '../../../components/act-dialog.tsx';
import { ConfirmDialog } from '../../../components/confirm-dialog.tsx';
import { Field, SelectField, TextField } from '../../../components/fields.tsx';
import { useRules, useVms, type Vm, vmNamesOf, vmsCalled } from '../../../data/catalogue.ts';
import { serverClock } from '../../../data/clock.ts';
import { useForm } from '../../../data/form.ts';
import { idOf, unixOf } from '../../../data/names.ts';
import { format, preferences } from '../../../data/preferences.ts';
import { texts as common } from '../../../messages/en.ts';
import { formatTime, parseTimeField, readTimeField } from '../../../messages/format.ts';
import { coveredText, type Scope } from './maintenance.ts';
import { texts as all } from './maintenance-texts.ts';

const texts = all.plan;
const NOTE_CHARS_MAX = 1_000;
const HOUR_MS = 3_600_000;

/** Values as typed. */
interface Fields {
  /** Resource name; '' for all rules. */
  readonly ruleName: string;
  /** Name or id; '' for all VMs. */
  readonly vm: string;
  /** Start; '' for now. */
  readonly from: string;
  /** Hours, or `time` for the end given in `until`. */
  readonly length: string;
  readonly until: string;
  readonly note: string;
}

const BLANK: Fields = { ruleName: '', vm: '', from: '', length: '1', until: '', note: '' };

export interface PlanMaintenanceProps extends DialogFrame {
  readonly projectName: string;
  /** Called if earlier input was restored. */
  readonly onRestored: () => void;
  readonly onSaved: () => void;
}

export function PlanMaintenance(props: PlanMaintenanceProps): VNode {
  const { projectName, onRestored, onSaved, ...frame } = props;
  const vms = useVms(projectName);
  const rules = useRules(projectName);
  const { mutation, draft, fields, type } = useForm(
    'MaintenanceService',
    'createMaintenanceWindow',
    { key: `planMaintenance ${projectName}`, initial: BLANK, onRestored },
  );
  const vmProblem = problemOfVm(fields.vm, vms);
  const isUtc = preferences.zone.value === 'utc';
  const timeProblem = problemOf(fromOf(fields, isUtc)) ?? problemOf(untilOf(fields, isUtc));
  const noUntil = untilMsOf(fields, isUtc) === undefined ? texts.noUntil : undefined;
  return (
    <ConfirmDialog
      {...frame}
      title={texts.title}
      action={texts.action}
      needs="EDITOR"
      look="main"
      blocked={vmProblem ?? timeProblem ?? noUntil}
      mutation={mutation}
      draft={draft}
      request={() => requestOf(projectName, draft.value.peek(), vms)}
      done={texts.saved}
      onSaved={onSaved}
    >
      <SelectField
        label={texts.rule}
        value={fields.ruleName}
        options={[
          { value: '', title: texts.everyRule },
          ...[...rules.keys()].map((value) => ({ value, title: titleOf(value, rules) })),
        ]}
        onChange={(ruleName) => type({ ruleName })}
      />
      <TextField
        label={texts.vm}
        help={texts.vmHelp}
        problem={vmProblem}
        value={fields.vm}
        suggestions={vms.map(({ name, displayName }) => ({
          value: idOf(name),
          title: displayName,
        }))}
        onInput={(vm) => type({ vm })}
      />
      <Times fields={fields} isUtc={isUtc} onChange={type} />
      <TextField
        label={texts.note}
        value={fields.note}
        rows={2}
        maxLength={NOTE_CHARS_MAX}
        onInput={(note) => type({ note })}
      />
      <p>{effectText(scopeOf(fields, vms), vms, rules)}</p>
    </ConfirmDialog>
  );
}

function effectText(scope: Scope, vms: readonly Vm[], rules: ReturnType<typeof useRules>): string {
  const { ruleName, vmName } = scope;
  if (ruleName === '' && vmName === '') return texts.effectAll;
  const ruleDisplayName = titleOf(ruleName, rules);
  const vmDisplayName = vmNamesOf(vms).get(vmName) ?? '';
  return texts.effect(coveredText({ ...scope, ruleDisplayName, vmDisplayName }));
}

function titleOf(rule: string, rules: ReturnType<typeof useRules>): string {
  return rules.get(rule)?.spec?.displayName || idOf(rule);
}

interface TimesProps {
  readonly fields: Fields;
  readonly isUtc: boolean;
  readonly onChange: (changes: Partial<Fields>) => void;
}

function Times({ fields, isUtc, onChange }: TimesProps): VNode {
  const zone = isUtc ? common.utc : common.local;
  return (
    <>
      <DateTime
        label={texts.from}
        help={texts.fromHelp(zone)}
        read={fromOf(fields, isUtc)}
        value={fields.from}
        onInput={(from) => onChange({ from })}
      />
      <SelectField
        label={texts.length}
        value={fields.length}
        options={Object.entries(texts.lengths).map(([value, title]) => ({ value, title }))}
        onChange={(length) => onChange({ length })}
      />
      {fields.length === 'time' && (
        <DateTime
          label={texts.until}
          help={texts.untilHelp(zone)}
          read={untilOf(fields, isUtc)}
          value={fields.until}
          onInput={(until) => onChange({ until })}
        />
      )}
    </>
  );
}

interface DateTimeProps {
  readonly label: string;
  readonly help: string;
  /** The moment that is typed, displayed with its zone; undefined if the field is empty. */
  readonly read: ReturnType<typeof readTimeField>;
  readonly value: string;
  readonly onInput: (value: string) => void;
}

function DateTime({ label, help, read, value, onInput }: DateTimeProps): VNode {
  const isMoment = read !== undefined && 'ms' in read;
  const moment = isMoment ? formatTime(read.ms, serverClock.now(), format.value) : undefined;
  return (
    <Field
      label={label}
      help={moment === undefined ? help : `${help} (${moment})`}
      problem={problemOf(read)}
    >
      {(attributes) => (
        <input
          type="datetime-local"
          {...attributes}
          value={value}
          onInput={({ currentTarget }) => onInput(currentTarget.value)}
        />
      )}
    </Field>
  );
}

function problemOfVm(typed: string, vms: readonly Vm[]): string | undefined {
  const text = typed.trim();
  if (text === '') return undefined;
  const [found, another] = vmsCalled(vms, text);
  if (found && !another) return undefined;
  return found ? texts.several(text) : texts.noVm(text);
}

function scopeOf({ ruleName, vm }: Fields, vms: readonly Vm[]): Scope {
  const text = vm.trim();
  return { ruleName, vmName: text === '' ? '' : (vmsCalled(vms, text)[0]?.name ?? text) };
}

function problemOf(read: ReturnType<typeof readTimeField>): string | undefined {
  return read && 'problem' in read ? read.problem : undefined;
}

function fromOf({ from }: Fields, isUtc: boolean) {
  return readTimeField(from, isUtc, serverClock.now());
}

/** The end as typed; undefined if a duration is chosen instead. */
function untilOf({ from, length, until }: Fields, isUtc: boolean) {
  const nowMs = serverClock.now();
  const fromMs = parseTimeField(from, isUtc, nowMs) ?? nowMs;
  return length === 'time' ? readTimeField(until, isUtc, fromMs) : undefined;
}

/** Unix ms; undefined until an end is chosen. */
function untilMsOf(fields: Fields, isUtc: boolean): number | undefined {
  const nowMs = serverClock.now();
  const fromMs = fields.from === '' ? nowMs : parseTimeField(fields.from, isUtc, nowMs);
  if (fields.length === 'time') return parseTimeField(fields.until, isUtc, fromMs);
  return fromMs === undefined ? undefined : fromMs + Number(fields.length) * HOUR_MS;
}

function requestOf(projectName: string, fields: Fields, vms: readonly Vm[]) {
  const isUtc = preferences.zone.peek() === 'utc';
  const fromMs = parseTimeField(fields.from, isUtc, serverClock.now());
  const untilMs = untilMsOf(fields, isUtc);
  return {
    projectName,
    ...scopeOf(fields, vms),
    note: fields.note.trim(),
    ...(fromMs !== undefined && { fromUnix: unixOf(fromMs) }),
    ...(untilMs !== undefined && { untilUnix: unixOf(untilMs) }),
  };
}
