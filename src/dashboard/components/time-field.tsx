/** A native date and time field, in the user's chosen time zone. */
import type { VNode } from 'preact';
import { preferences } from '../data/preferences.ts';
import { formatTimeField, readTimeField } from '../messages/format.ts';

export interface TimeFieldProps {
  readonly label: string;
  /** Unix ms; undefined if empty. */
  readonly ms: number | undefined;
  /** Called with undefined when the field is cleared. */
  readonly onChange: (ms: number | undefined) => void;
}

/**
 * Precise to the minute, or to the second where the browser supports it. A time that does not exist
 * is refused with a reason, and the last one stays.
 */
export function TimeField({ label, ms, onChange }: TimeFieldProps): VNode {
  const isUtc = preferences.zone.value === 'utc';
  return (
    <label>
      {label}
      <input
        type="datetime-local"
        step={1}
        value={ms === undefined ? '' : formatTimeField(ms, isUtc)}
        onChange={({ currentTarget }) => {
          const read = readTimeField(currentTarget.value, isUtc);
          const problem = read && 'problem' in read ? read.problem : '';
          currentTarget.setCustomValidity(problem);
          if (problem === '') onChange(read && 'ms' in read ? read.ms : undefined);
          else currentTarget.reportValidity();
        }}
      />
    </label>
  );
}
