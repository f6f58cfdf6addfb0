/** Filters of the audit trail, kept in the address. Known values are suggested while typing. */
import { useSignal } from '@preact/signals';
import type { VNode } from 'preact';
import { useId } from 'preact/hooks';
import { Filters, SelectFilter } from '../../components/filters.tsx';
import { TimeField } from '../../components/time-field.tsx';
import { read } from '../../data/call.ts';
import { serverClock } from '../../data/clock.ts';
import { useLoaded } from '../../data/loaded.ts';
import { mayDo } from '../../data/projects.ts';
import { query, setQuery } from '../../router/location.ts';
import { eventName } from '../../statechart/marking.ts';
import type { Transition } from '../../statechart/recorded-steps.ts';
import { readerOf } from './readers.ts';
import {
  actorOptions,
  type Option,
  secondsOf,
  TRAIL_FILTERS,
  trailRanges,
} from './trail-request.ts';
import { texts as all } from './trail-texts.ts';

const texts = all.filter;

export function TrailFilters(props: {
  readonly projectName: string;
  /** Steps whose actors and events are suggested. */
  readonly seen: readonly Transition[];
}): VNode {
  const { projectName, seen } = props;
  const machine = query.value.get('machine') ?? '';
  const events = useEvents(projectName, machine);
  const request = query.value.get('request');
  return (
    <Filters names={TRAIL_FILTERS}>
      <RangeFilter />
      <WhoFilter projectName={projectName} seen={seen} />
      <MachineFilter projectName={projectName} />
      <TypedFilter
        name="event"
        label={texts.event}
        hint={texts.eventHint}
        options={unique((events ?? seen.map(({ event }) => event)).map(optionOf))}
      />
      <TypedFilter
        name="instance"
        label={texts.instance}
        hint={texts.instanceHint}
        options={[]}
        parse={(text) => instanceNameOf(projectName, text)}
      />
      {request !== null && <span class="weak">{texts.request(request)}</span>}
    </Filters>
  );
}

interface WhoFilterProps {
  readonly projectName: string;
  readonly seen: readonly Transition[];
}

/** Maximum page size of a list: a project has fewer members, and rarely as many keys. */
const ACTORS_MAX = 1_000;

/** By a member, a key or a CI connection. An unknown name filters nothing and shows an error. */
function WhoFilter({ projectName, seen }: WhoFilterProps): VNode {
  const isOwner = mayDo('OWNER');
  const page = { projectName, pageSize: ACTORS_MAX };
  const loader = useLoaded(`actors ${projectName} ${isOwner}`, async (options) => {
    const [{ members, nextPageToken }, credentials] = await Promise.all([
      read('ProjectService', 'listMembers', page, options),
      isOwner
        ? read('AutomationService', 'listCredentials', { ...page, includeEnded: true }, options)
        : undefined,
    ]);
    const isWhole = !nextPageToken && !credentials?.nextPageToken;
    return { members, credentials: credentials?.credentials ?? [], isWhole };
  });
  const known = loader.state.value.value;
  const options = unique(actorOptions(seen, known));
  return (
    <TypedFilter
      name="by"
      label={texts.by}
      hint={texts.byHint}
      options={options}
      // A resource name may belong to someone who left. If not all names are known, the service
      // finds out.
      parse={(text) => (text.includes('/') || !known?.isWhole ? text : undefined)}
      problem={texts.nobody}
    />
  );
}

function optionOf(event: string): Option {
  return { value: event, title: eventName(event) };
}

function unique(options: readonly Option[]): readonly Option[] {
  const byValue = new Map(options.map((option) => [option.value, option]));
  return [...byValue.values()].toSorted((a, b) => a.title.localeCompare(b.title));
}

/**
 * Accepts typed or copied forms: a resource name, with or without the project, or the path of a
 * page.
 */
function instanceNameOf(projectName: string, text: string): string {
  const name = text.replace(/^.*?(?=projects\/)/, '').replace(/[?#].*$/, '');
  return /^projects\//.test(name) ? name : `${projectName}/${name.replace(/^\//, '')}`;
}

/** A named range moves with the clock; two fields fix both of its ends. */
function RangeFilter(): VNode {
  const names = texts.ranges as Readonly<Record<string, string>>;
  const [from, to] = [secondsOf(query.value, 'from'), secondsOf(query.value, 'to')];
  const named = query.value.get('range') ?? '';
  const isFixed = named === 'fixed' || (named === '' && (from ?? to) !== undefined);
  return (
    <>
      <label>
        {texts.range}
        <select
          value={isFixed ? 'fixed' : named}
          onChange={({ currentTarget: { value } }) => chooseRange(value)}
        >
          <option value="">{texts.anyTime}</option>
          {Object.keys(trailRanges).map((range) => (
            <option key={range} value={range}>
              {names[range]}
            </option>
          ))}
          <option value="fixed">{texts.fixed}</option>
        </select>
      </label>
      {isFixed && (
        <>
          <TimeField label={texts.from} ms={from && from * 1_000} onChange={setTime('from')} />
          <TimeField label={texts.to} ms={to && to * 1_000} onChange={setTime('to')} />
        </>
      )}
    </>
  );
}

function chooseRange(range: string): void {
  const before = trailRanges[query.peek().get('range') ?? ''];
  const nowUnix = Math.floor(serverClock.now() / 1_000);
  // Fixed ends start where the named range was.
  const fixed = before === undefined ? {} : { from: String(nowUnix - before), to: String(nowUnix) };
  setQuery({
    from: undefined,
    to: undefined,
    range: range || undefined,
    ...(range === 'fixed' && fixed),
  });
}

function setTime(name: 'from' | 'to'): (ms: number | undefined) => void {
  return (ms) =>
    setQuery({ [name]: ms === undefined ? undefined : String(Math.floor(ms / 1_000)) });
}

/** Machines whose steps the role may read; selecting another one resets the event to any. */
function MachineFilter({ projectName }: { readonly projectName: string }): VNode {
  const machines = useLoaded(`machines ${projectName}`, (options) =>
    read('AuditService', 'listMachines', { projectName }, options),
  );
  const known = machines.state.value.value?.machines ?? [];
  const options = known
    .filter(({ machine }) => mayDo(readerOf(machine)))
    .map(({ machine }) => ({ value: machine, title: machine }));
  const chosen = query.value.get('machine');
  const isKnown = chosen === null || options.some(({ value }) => value === chosen);
  const displayed = isKnown ? options : [...options, { value: chosen, title: chosen }];
  return <SelectFilter name="machine" label={texts.machine} options={displayed} />;
}

/** Events of a machine, from its diagram; undefined if none is selected or it is not loaded. */
function useEvents(projectName: string, machine: string): readonly string[] | undefined {
  const loader = useLoaded(`events ${projectName} ${machine}`, async (options) => {
    if (machine === '') return undefined;
    const request = { projectName, machine };
    const { layout } = await read('AuditService', 'getMachine', request, options);
    const ways = [...(layout?.arrows ?? []).flatMap(({ events }) => events)];
    const stays = (layout?.states ?? []).flatMap((state) => state.stays);
    return ['xstate.init', ...[...ways, ...stays].map(({ event }) => event)];
  });
  return loader.state.value.value;
}

/** A text in the address; known values are suggested by display name. */
function TypedFilter(props: {
  readonly name: string;
  readonly label: string;
  readonly hint: string;
  readonly options: readonly Option[];
  /** Parses values that are not in `options`; undefined if the value cannot be searched for. */
  readonly parse?: (text: string) => string | undefined;
  readonly problem?: (text: string) => string;
}): VNode {
  const { name, label, hint, options, parse = (text) => text, problem } = props;
  const listId = useId();
  const refused = useSignal('');
  const kept = query.value.get(name) ?? '';
  const choose = (text: string): void => {
    const found = options.find(({ value, title }) => value === text || title === text);
    const value = found?.value ?? (text === '' ? undefined : parse(text));
    refused.value = value === undefined ? text : '';
    if (refused.value === '') setQuery({ [name]: value });
  };
  return (
    <label>
      {label}
      <input
        type="search"
        list={listId}
        placeholder={hint}
        value={options.find(({ value }) => value === kept)?.title ?? kept}
        onChange={({ currentTarget }) => choose(currentTarget.value.trim())}
      />
      <datalist id={listId}>
        {[...new Map(options.map((one) => [one.title, one])).values()].map(({ value, title }) => (
          <option key={value} value={title}>
            {title === value ? undefined : value}
          </option>
        ))}
      </datalist>
      {problem && refused.value !== '' && <small role="alert">{problem(refused.value)}</small>}
    </label>
  );
}
