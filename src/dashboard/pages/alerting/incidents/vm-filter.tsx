/** A filter by one VM. It is typed as a name or id, and kept in the address as an id. */
import { useSignal } from '@preact/signals';
import type { VNode } from 'preact';
import { useId } from 'preact/hooks';
import { type Vm, vmsCalled } from '../../../data/catalogue.ts';
import { idOf } from '../../../data/names.ts';
import { query, setQuery } from '../../../router/location.ts';
import { texts } from './incident-texts.ts';

/** Offers `vms`, which is empty until loaded. Any other input gets an error. */
export function VmFilter({ vms }: { readonly vms: readonly Vm[] }): VNode {
  const listId = useId();
  const problem = useSignal<string | undefined>(undefined);
  const chosen = query.value.get('vm');
  const vm = vms.find(({ name }) => idOf(name) === chosen);
  const choose = (text: string): void => {
    const [found, another] = vmsCalled(vms, text);
    problem.value = undefined;
    if (text === '') setQuery({ vm: undefined });
    else if (found && !another) setQuery({ vm: idOf(found.name) });
    else problem.value = found ? texts.list.several(text) : texts.list.noVm(text);
  };
  return (
    <label>
      {texts.list.vm}
      <input
        type="search"
        list={listId}
        placeholder={texts.list.vmHint}
        value={vm?.displayName || chosen || ''}
        onChange={({ currentTarget }) => choose(currentTarget.value.trim())}
      />
      <datalist id={listId}>
        {vms.map(({ name, displayName }) => (
          <option key={name} value={idOf(name)}>
            {displayName}
          </option>
        ))}
      </datalist>
      {problem.value !== undefined && <small role="alert">{problem.value}</small>}
    </label>
  );
}
