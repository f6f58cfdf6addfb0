/**
 * Filters above a list, kept in the query of the address: a reload or a shared link shows the same
 * rows, and the back button leaves the page.
 */
import { useSignal } from '@preact/signals';
import type { ComponentChildren, VNode } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { serverClock } from '../data/clock.ts';
import { texts } from '../messages/en.ts';
import { query, setQuery } from '../router/location.ts';
import { useShortcuts } from './shortcuts.ts';

/** Wrapper of filters with a button that clears the active ones. */
export function Filters(props: { children: ComponentChildren; names: readonly string[] }): VNode {
  const { children, names } = props;
  const isSet = names.some((name) => query.value.has(name));
  return (
    <search class="filters">
      {children}
      {isSet && (
        <button
          type="button"
          class="quiet"
          onClick={() => setQuery(Object.fromEntries(names.map((name) => [name, undefined])))}
        >
          {texts.filter.clear}
        </button>
      )}
    </search>
  );
}

/** Debounce delay of typing, ms. */
const PAUSE_MS = 250;

/** A text in the query; `/` focuses it. */
export function SearchField(props: { readonly name: string; readonly label?: string }): VNode {
  const { name, label = texts.filter.search } = props;
  const field = useRef<HTMLInputElement>(null);
  const typed = useSignal<string | undefined>(undefined);
  const kept = query.value.get(name) ?? '';
  useShortcuts([{ keys: '/', name: texts.shortcut.search, run: () => field.current?.focus() }]);
  useEffect(() => {
    const text = typed.value;
    if (text === undefined) return undefined;
    return serverClock.wakeAfter(PAUSE_MS, () => {
      setQuery({ [name]: text === '' ? undefined : text });
      typed.value = undefined;
    });
  }, [name, typed, typed.value]);
  return (
    <label class="search">
      {label}
      <input
        ref={field}
        type="search"
        value={typed.value ?? kept}
        onInput={({ currentTarget }) => {
          typed.value = currentTarget.value;
        }}
      />
    </label>
  );
}

/** A filter by one value of a list; no selection means no filter. */
export interface SelectFilterProps {
  /** Name in the query. */
  readonly name: string;
  readonly label: string;
  readonly options: readonly { readonly value: string; readonly title: string }[];
  /** Label of the empty selection. */
  readonly all?: string;
}

/** A select bound to the query; without a value it matches all rows. */
export function SelectFilter(props: SelectFilterProps): VNode {
  const { name, label, options, all = texts.filter.all } = props;
  return (
    <label>
      {label}
      <select
        value={query.value.get(name) ?? ''}
        onChange={({ currentTarget }) => setQuery({ [name]: currentTarget.value || undefined })}
      >
        <option value="">{all}</option>
        {options.map(({ value, title }) => (
          <option key={value} value={value}>
            {title}
          </option>
        ))}
      </select>
    </label>
  );
}
