/**
 * Checkboxes for VMs, out of thousands: first the selected ones, then the first whose name or id
 * contains the search text.
 */
import { useSignal } from '@preact/signals';
import type { VNode } from 'preact';
import { CheckField, Field, FieldGroup } from '../../../components/fields.tsx';
import { idOf } from '../../../data/names.ts';
import { format } from '../../../data/preferences.ts';
import { formatCount } from '../../../messages/format.ts';
import { texts } from './rule-texts.ts';

/** Maximum number of checkboxes: beyond it, searching is quicker than reading. */
const OFFERED_MAX = 20;

export interface VmChoiceProps {
  /** Display names by resource name. */
  readonly vms: ReadonlyMap<string, string>;
  readonly chosen: readonly string[];
  readonly onChange: (chosen: readonly string[]) => void;
  readonly problem: string | undefined;
}

export function VmChoice({ vms, chosen, onChange, problem }: VmChoiceProps): VNode {
  const search = useSignal('');
  const text = search.value.trim().toLowerCase();
  const titleOf = (name: string): string => vms.get(name) || idOf(name);
  const found = [...vms.keys()].filter(
    (name) =>
      !chosen.includes(name) &&
      (titleOf(name).toLowerCase().includes(text) || idOf(name).includes(text)),
  );
  const offered = found.slice(0, OFFERED_MAX);
  const box = (name: string): VNode => (
    <CheckField
      key={name}
      label={titleOf(name)}
      isChecked={chosen.includes(name)}
      onChange={(isChecked) =>
        onChange(isChecked ? [...chosen, name] : chosen.filter((one) => one !== name))
      }
    />
  );
  return (
    <FieldGroup
      legend={texts.form.chosenVms}
      help={texts.choice.chosen(formatCount(chosen.length, format.value))}
    >
      <Field label={texts.choice.search} problem={problem}>
        {(attributes) => (
          <input
            type="search"
            {...attributes}
            value={search.value}
            onInput={({ currentTarget }) => {
              search.value = currentTarget.value;
            }}
          />
        )}
      </Field>
      <div class="vm-choice">
        {chosen.map(box)}
        {offered.map(box)}
      </div>
      {found.length > offered.length && (
        <p class="weak">
          {texts.choice.more(formatCount(found.length - offered.length, format.value))}
        </p>
      )}
      {found.length === 0 && text !== '' && <p class="weak">{texts.choice.nothing}</p>}
    </FieldGroup>
  );
}
