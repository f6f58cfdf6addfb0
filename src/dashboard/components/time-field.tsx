/** A time as a field of the browser, in the zone that the person reads times in. */
import type { VNode } from 'preact';
import { preferences } from '../data/preferences.ts';
import { formatTimeField, parseTimeField } from '../messages/format.ts';

export interface TimeFieldProps {
  readonly label: string;
  /** Unix ms; undefined = empty. */
  readonly ms: number | undefined;
  /** Called with undefined when the field was emptied. */
  readonly onChange: (ms: number | undefined) => void;
}

/** To the minute, and to the second where the browser offers it. */
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
