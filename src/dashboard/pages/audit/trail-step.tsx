/**
 * One recorded step with all its fields, over the list. Its key is in the address, so a link opens
 * it even if the list has not loaded it.
 */

import type { ComponentChildren, VNode } from 'preact';
import { DataView } from '../../components/data-view.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Fact } from '../../components/fact.tsx';
import { pathOfResource } from '../../components/resource-link.tsx';
import { Time } from '../../components/time.tsx';
import { read } from '../../data/call.ts';
import { useLoaded } from '../../data/loaded.ts';
import { path, query, setQuery } from '../../router/location.ts';
import { eventName } from '../../statechart/marking.ts';
import type { Transition } from '../../statechart/recorded-steps.ts';
import { pathOnChart } from './readers.ts';
import { fieldsOf, parseStepKey, stateName, stepKey, whoOf } from './trail-request.ts';
import { texts as all } from './trail-texts.ts';

const texts = all.step;
/** Maximum number of steps in one millisecond. */
const ROWS_MAX = 1_000;

interface TrailStepProps {
  readonly projectName: string;
  /** Steps that are already loaded. */
  readonly known: readonly Transition[];
}

export function TrailStep({ projectName, known }: TrailStepProps): VNode {
  const key = query.value.get('step');
  const found = known.find((step) => stepKey(step) === key);
  const named = parseStepKey(key ?? '');
  const title = named ? texts.title(named.machine, eventName(named.event)) : all.column.event;
  const close = (): void => setQuery({ step: undefined });
  return (
    <Dialog title={title} isOpen={key !== null} onClose={close}>
      {found && <Step of={found} />}
      {!found && key !== null && <Elsewhere projectName={projectName} stepKey={key} />}
    </Dialog>
  );
}

function Elsewhere(props: { readonly projectName: string; readonly stepKey: string }): VNode {
  const { projectName, stepKey: key } = props;
  const loader = useLoaded(`step ${projectName} ${key}`, async (options) => {
    const { atUnixMs } = parseStepKey(key) ?? {};
    if (atUnixMs === undefined) return undefined;
    const range = { startTimeUnixMs: atUnixMs, endTimeUnixMs: atUnixMs };
    const request = { projectName, ...range, pageSize: ROWS_MAX };
    const { transitions } = await read('AuditService', 'listTransitions', request, options);
    return transitions.find((step) => stepKey(step) === key);
  });
  return (
    <DataView of={loader}>{(step) => (step ? <Step of={step} /> : <p>{texts.gone}</p>)}</DataView>
  );
}

function Step({ of: step }: { readonly of: Transition }): VNode {
  const { atUnixMs, observedUnixMs, by, machine, instance, instanceName, requestId } = step;
  const name = instanceName || instance;
  const chart = pathOnChart(machine, instanceName);
  const page = instanceName === '' ? undefined : pathOfResource(instanceName);
  return (
    <>
      <dl class="facts">
        <Fact title={all.column.when}>
          <Time ms={Number(atUnixMs)} />
        </Fact>
        {observedUnixMs !== undefined && (
          <Fact title={texts.observed}>
            <Time ms={Number(observedUnixMs)} />
          </Fact>
        )}
        <Fact title={all.column.who}>
          {whoOf(step)} {whoOf(step) !== by && <code class="weak">{by}</code>}
        </Fact>
        <Fact title={all.column.what}>
          {machine} <code>{name}</code>
        </Fact>
        <Fact title={texts.from}>{step.fromStates.map(stateName).join(', ') || texts.none}</Fact>
        <Fact title={texts.to}>{step.toStates.map(stateName).join(', ')}</Fact>
        {requestId !== '' && (
          <Fact title={texts.request}>
            <code>{requestId}</code>
          </Fact>
        )}
        <Fact title={texts.position}>{step.sequence}</Fact>
      </dl>
      <Fields of={step} />
      <ul class="plain-list">
        <Link href={chart}>{texts.path}</Link>
        <Link href={page}>{texts.open}</Link>
        <Link href={hrefOf({ by })}>{texts.onlyBy}</Link>
        <Link href={instanceName === '' ? undefined : hrefOf({ instance: instanceName })}>
          {texts.onlyInstance}
        </Link>
        <Link href={requestId === '' ? undefined : hrefOf({ request: requestId })}>
          {texts.onlyRequest}
        </Link>
      </ul>
    </>
  );
}

/** The list with only this filter. */
function hrefOf(filter: Readonly<Record<string, string>>): string {
  return `${path.value}?${new URLSearchParams(filter)}`;
}

function Link(props: {
  readonly href: string | undefined;
  readonly children: ComponentChildren;
}): VNode | null {
  if (props.href === undefined) return null;
  return (
    <li>
      <a href={props.href}>{props.children}</a>
    </li>
  );
}

function Fields({ of }: { readonly of: Transition }): VNode {
  const fields = fieldsOf(of.fields);
  if (fields.length === 0) return <p class="weak">{texts.noFields}</p>;
  return (
    <table class="table plain" aria-label={texts.fields}>
      <thead>
        <tr>
          <th scope="col">{texts.field}</th>
          <th scope="col">{texts.value}</th>
        </tr>
      </thead>
      <tbody>
        {fields.map(({ name, text, ms }) => (
          <tr key={name}>
            <td>
              <code>{name}</code>
            </td>
            <td class="grow">{ms === undefined ? text : <Time ms={ms} />}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
