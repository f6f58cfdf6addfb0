/** A native date and time field, in the user's chosen time zone. */
import type { VNode } from 'preact';
import { preferences } from '../data/preferences.ts';
import { formatTimeField, parseTimeField } from '../messages/format.ts';

export interface TimeFieldProps {
  readonly label: string;
  /** Unix ms; undefined if empty. */
  readonly ms: number | undefined;
  /** Called with undefined when the field is cleared. */
  readonly onChange: (ms: number | undefined) => void;
}

/** Precise to the minute, or to the second where the browser supports it. */
export function TimeField({ label, ms, onChange }: TimeFieldProps): VNode {
  const isUtc = preferences.zone.value === 'utc';
  return (
    <label>
      {label}
      <input
        type="datetime-local"
        step={1}
        value={ms === undefined ? '' : formatTimeField(ms, isUtc)}
        onChange={({ currentTarget }) => onChange(parseTimeField(currentTarget.value, isUtc))}
      />
    </label>
  );
}
