/** Field for the time that messages of a destination wait for further incidents of their rule. */
import type { VNode } from 'preact';
import { SelectField } from '../../components/fields.tsx';
import { formatDuration } from '../../messages/format.ts';
import { texts as all } from './destination-texts.ts';

const texts = all.groupWait;
/** Options, seconds; a different current value is added to them. */
const OFFERED = [0, 10, 30, 60, 120, 300];

/** `30 s for further incidents of the rule`. */
export function groupWaitText(seconds: number): string {
  return seconds === 0 ? texts.none : texts.some(formatDuration(seconds));
}

export interface GroupWaitFieldProps {
  /** Undefined for the service's default for the kind. */
  readonly seconds: number | undefined;
  /** Label of the default option; if absent, a value must be chosen. */
  readonly usual?: string;
  readonly onChange: (seconds: number | undefined) => void;
}

export function GroupWaitField({ seconds, usual, onChange }: GroupWaitFieldProps): VNode {
  const isOther = seconds !== undefined && !OFFERED.includes(seconds);
  const values = isOther ? [...OFFERED, seconds].toSorted((a, b) => a - b) : OFFERED;
  return (
    <SelectField
      label={texts.label}
      help={texts.help}
      value={seconds === undefined ? '' : String(seconds)}
      options={[
        ...(usual === undefined ? [] : [{ value: '', title: usual }]),
        ...values.map((value) => ({ value: String(value), title: groupWaitText(value) })),
      ]}
      onChange={(value) => onChange(value === '' ? undefined : Number(value))}
    />
  );
}
