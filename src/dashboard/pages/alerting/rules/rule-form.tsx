/**
 * The fields of a rule: what it watches, when it fires and recovers, and where it sends
 * notifications.
 */
import type { VNode } from 'preact';
import { CheckField, FieldGroup, SelectField, TextField } from '../../../components/fields.tsx';
import { type Destination, type Metric, unitOf } from '../../../data/catalogue.ts';
import { idOf } from '../../../data/names.ts';
import { format } from '../../../data/preferences.ts';
import { names } from '../../../messages/en.ts';
import { pathIfAny } from '../../../router/match.ts';
import { metricName } from '../../vms/texts.ts';
import { operators, type RuleField, type RuleFields, severities } from './rule-fields.ts';
import { texts } from './rule-texts.ts';
import { exampleIn, meaningText, operatorTitle, unitWords } from './rule-words.ts';
import { VmChoice } from './vm-choice.tsx';

/** Options that the project offers. */
export interface RuleChoices {
  readonly projectName: string;
  readonly metrics: readonly Metric[];
  readonly vms: ReadonlyMap<string, string>;
  readonly destinations: readonly Destination[];
}

export interface RuleFormProps {
  readonly fields: RuleFields;
  readonly onChange: (changes: Partial<RuleFields>) => void;
  /** Problems as sentences, by field. */
  readonly problems: Readonly<Partial<Record<RuleField, string>>>;
  readonly choices: RuleChoices;
  /** Saved rules have separate buttons for pausing and resuming. */
  readonly isNew: boolean;
}

export function RuleForm(props: RuleFormProps): VNode {
  const { fields, onChange, problems, isNew } = props;
  return (
    <div class="rule-form">
      <TextField
        label={texts.form.displayName}
        value={fields.displayName}
        problem={problems.displayName}
        maxLength={200}
        onInput={(displayName) => onChange({ displayName })}
      />
      <SelectField
        label={texts.form.severity}
        value={fields.severity}
        problem={problems.severity}
        options={severities.map((value) => ({ value, title: names[value] ?? value }))}
        onChange={(value) => {
          const severity = severities.find((one) => one === value);
          if (severity) onChange({ severity });
        }}
      />
      <Condition {...props} />
      <Recovery {...props} />
      <Selection {...props} />
      <Notification {...props} />
      <TextField
        label={texts.form.labels}
        help={texts.form.labelsHelp}
        value={fields.labels}
        problem={problems.labels}
        rows={2}
        onInput={(labels) => onChange({ labels })}
      />
      <Runbook {...props} />
      {isNew && (
        <CheckField
          label={texts.form.enabled}
          help={texts.form.enabledHelp}
          isChecked={fields.enabled}
          onChange={(enabled) => onChange({ enabled })}
        />
      )}
    </div>
  );
}

function Condition({ fields, onChange, problems, choices: { metrics } }: RuleFormProps): VNode {
  const unit = unitOf(metrics, fields.metricId);
  return (
    <>
      <SelectField
        label={texts.form.metric}
        help={metricHelp(metrics.find(({ metricId }) => metricId === fields.metricId))}
        problem={problems.metricId}
        value={fields.metricId}
        options={metricOptions(metrics, fields.metricId)}
        onChange={(metricId) => onChange({ metricId })}
      />
      <div class="form-row">
        <SelectField
          label={texts.form.operator}
          value={fields.operator}
          problem={problems.operator}
          options={operators.map((value) => ({ value, title: operatorTitle(value) }))}
          onChange={(value) => {
            const operator = operators.find((one) => one === value);
            if (operator) onChange({ operator });
          }}
        />
        <TextField
          label={texts.form.threshold}
          help={quantityHelp(fields.threshold, unit) ?? exampleHelp(unit)}
          value={fields.threshold}
          problem={problems.threshold}
          onInput={(threshold) => onChange({ threshold })}
        />
      </div>
      <TextField
        label={texts.form.sustained}
        help={texts.form.sustainedHelp}
        value={fields.sustainedSeconds}
        problem={problems.sustainedSeconds}
        onInput={(sustainedSeconds) => onChange({ sustainedSeconds })}
      />
    </>
  );
}

function Runbook({ fields, onChange, problems }: RuleFormProps): VNode {
  return (
    <FieldGroup legend={texts.form.runbook} help={texts.form.runbookHelp}>
      <TextField
        label={texts.form.runbookText}
        value={fields.runbookText}
        problem={problems.runbookText}
        rows={3}
        onInput={(runbookText) => onChange({ runbookText })}
      />
      <TextField
        label={texts.form.runbookUrl}
        value={fields.runbookUrl}
        problem={problems.runbookUrl}
        onInput={(runbookUrl) => onChange({ runbookUrl })}
      />
    </FieldGroup>
  );
}

function Recovery({ fields, onChange, problems, choices: { metrics } }: RuleFormProps): VNode {
  const unit = unitOf(metrics, fields.metricId);
  return (
    <FieldGroup legend={texts.form.recovery} help={texts.form.recoveryHelp}>
      <div class="form-row">
        <TextField
          label={texts.form.recoveryThreshold}
          help={quantityHelp(fields.recoveryThreshold, unit) ?? texts.form.recoveryThresholdHelp}
          value={fields.recoveryThreshold}
          problem={problems.recoveryThreshold}
          onInput={(recoveryThreshold) => onChange({ recoveryThreshold })}
        />
        <TextField
          label={texts.form.recoverySeconds}
          help={texts.form.recoverySecondsHelp}
          value={fields.recoverySeconds}
          problem={problems.recoverySeconds}
          onInput={(recoverySeconds) => onChange({ recoverySeconds })}
        />
      </div>
    </FieldGroup>
  );
}

const ALL = 'all';

function Selection({ fields, onChange, problems, choices: { vms } }: RuleFormProps): VNode {
  return (
    <>
      <SelectField
        label={texts.form.vms}
        value={fields.allVms ? ALL : ''}
        problem={problems.allVms}
        options={[
          { value: ALL, title: texts.form.allVms },
          { value: '', title: texts.form.chosenVms },
        ]}
        onChange={(value) => onChange({ allVms: value === ALL })}
      />
      {!fields.allVms && (
        <VmChoice
          vms={vms}
          chosen={fields.vmNames}
          problem={problems.vmNames}
          onChange={(vmNames) => onChange({ vmNames })}
        />
      )}
    </>
  );
}

function Notification({ fields, onChange, problems, choices }: RuleFormProps): VNode {
  const { destinations, projectName } = choices;
  const known = destinations.map(({ name }) => name);
  // A deleted destination stays ticked until the user removes it.
  const offered = [...known, ...fields.destinationNames.filter((name) => !known.includes(name))];
  const path = pathIfAny('destinations', { project: idOf(projectName) });
  return (
    <>
      <FieldGroup
        legend={texts.form.destinations}
        help={problems.destinationNames ?? texts.form.destinationsHelp}
      >
        {offered.map((name) => {
          const destination = destinations.find((one) => one.name === name);
          return (
            <CheckField
              key={name}
              label={destination?.displayName || idOf(name)}
              {...(destination === undefined && { help: texts.form.unknownDestination })}
              {...(destination?.state === 'PAUSED' && { help: names.PAUSED })}
              isChecked={fields.destinationNames.includes(name)}
              onChange={(isChecked) =>
                onChange({
                  destinationNames: isChecked
                    ? [...fields.destinationNames, name]
                    : fields.destinationNames.filter((one) => one !== name),
                })
              }
            />
          );
        })}
        {offered.length === 0 && (
          <p class="weak">
            {texts.form.noDestinations}{' '}
            {path !== undefined && <a href={path}>{texts.form.addDestination}</a>}
          </p>
        )}
      </FieldGroup>
      <TextField
        label={texts.form.repeat}
        help={texts.form.repeatHelp}
        value={fields.repeatIntervalSeconds}
        problem={problems.repeatIntervalSeconds}
        onInput={(repeatIntervalSeconds) => onChange({ repeatIntervalSeconds })}
      />
    </>
  );
}

/** Unit, limitation, and whether it requires expanded monitoring. */
function metricHelp(metric: Metric | undefined): string | undefined {
  if (metric === undefined) return undefined;
  const unit = unitWords(metric.unit);
  const { limitation, expanded } = metric;
  const help = unit === undefined ? limitation : texts.form.metricHelp(unit, limitation);
  return expanded ? `${help} ${texts.form.expandedOnly}` : help;
}

/** The selected metric remains an option while the list is not loaded. */
function metricOptions(metrics: readonly Metric[], chosen: string) {
  const ids = metrics.map(({ metricId }) => metricId);
  const all = chosen === '' || ids.includes(chosen) ? ids : [chosen, ...ids];
  const options = all.map((value) => ({ value, title: metricName(value) }));
  return chosen === '' ? [{ value: '', title: texts.form.chooseMetric }, ...options] : options;
}

/** Undefined until a metric is selected, because the unit is unknown. */
function exampleHelp(unit: string): string | undefined {
  return unit === '' ? undefined : texts.form.thresholdHelp(exampleIn(unit));
}

function quantityHelp(typed: string, unit: string): string | undefined {
  const text = meaningText(typed, unit, format.value);
  return text === undefined ? undefined : texts.form.means(text);
}
