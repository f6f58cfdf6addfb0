/**
 * Alert instances as messages. The row of a firing instance gives its state. The evaluator supplies
 * the state of others: it runs the same machine over the events that it keeps.
 */
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import type {
  InspectedInstance,
  SoftInstance,
} from '../../../actors/alerting/evaluator/evaluator-port.ts';
import type {
  Instance,
  ProjectView,
  RecordedTransition,
} from '../../../actors/platform/host/host-port.ts';
import { type Condition, conditionOf } from '../../../machines/alerting/alert-instance.ts';
import { type PathStep, pathOf } from '../../../machines/alerting/alert-instance-path.ts';
import { parseLabels } from '../../../streams/telemetry/samples/batch.ts';
import {
  type AlertInstance,
  type AlertInstance_StepSchema,
  AlertInstanceSchema,
  AlertInstance_DataState as DataState,
  AlertInstance_Step_Source as Source,
  AlertInstance_State as State,
} from '../../gen/svc/monitoring/v1/rule_pb.ts';
import { ruleDisplayName, vmDisplayName } from '../../platform/api/display-names.ts';
import { optionalSeconds, withPresent } from '../../platform/api/message-fields.ts';
import { nameOf } from '../../platform/api/resource-name.ts';
import { observedMsOf, stateIds } from '../../platform/api/transition-messages.ts';

/**
 * A step in the response: recorded, from the evaluator's memory, or recomputed, as `source` says.
 */
export type StepMessage = MessageInitShape<typeof AlertInstance_StepSchema>;

/** The row of an instance that has fired. */
export type InstanceRow = Instance<'alertInstance'>;

/** Maximum steps in a response. */
const STEPS_MAX = 100;

/** An instance of an active rule. @param row undefined if it has never fired */
export function instanceMessage(
  view: ProjectView,
  soft: SoftInstance,
  row: InstanceRow | undefined,
): AlertInstance {
  const { project, lastObservedMs, missingSinceMs, lastValue, firesAtMs } = soft;
  const isFiring = row !== undefined && conditionOf(row.value) === 'firing';
  const { state, sinceMs } = isFiring ? firingState(row) : { ...soft, state: State[soft.state] };
  return withPresent(
    create(AlertInstanceSchema, {
      state,
      ...subject(view, soft),
      dataState: DataState[soft.dataState],
      name: row ? nameOf(project, 'alertInstances', row.instance) : '',
    }),
    {
      sinceUnix: optionalSeconds(sinceMs),
      lastValue,
      lastObservedUnix: optionalSeconds(lastObservedMs),
      missingSinceUnix: optionalSeconds(missingSinceMs),
      ...(!isFiring && { firesAtUnix: optionalSeconds(firesAtMs) }),
    },
  );
}

/** An instance that is no longer evaluated, because its rule or VM was changed or removed. */
export function endedMessage(view: ProjectView, row: InstanceRow): AlertInstance {
  const { project, instance } = row;
  const { incident, ...context } = row.context;
  const { state, sinceMs } = firingState(row);
  const missingSinceMs = incident?.dataMissingSinceMs ?? null;
  return withPresent(
    create(AlertInstanceSchema, {
      state,
      ...subject(view, { ...context, project }),
      dataState: missingSinceMs === null ? DataState.OBSERVED : DataState.MISSING,
      name: nameOf(project, 'alertInstances', instance),
    }),
    {
      sinceUnix: optionalSeconds(sinceMs),
      missingSinceUnix: optionalSeconds(missingSinceMs),
    },
  );
}

interface Subject {
  readonly project: string;
  readonly rule: string;
  readonly vm: string;
  readonly labels: string;
}

/** An instance of a whole data center has no VM. */
export function subject(view: ProjectView, { project, rule, vm, labels }: Subject) {
  return {
    ruleName: nameOf(project, 'alertRules', rule),
    vmName: vm === '' ? '' : nameOf(project, 'vms', vm),
    labels: parseLabels(labels),
    ruleDisplayName: ruleDisplayName(view, rule),
    vmDisplayName: vmDisplayName(view, vm),
  };
}

function firingState(row: InstanceRow) {
  return { state: stateMember(conditionOf(row.value)), sinceMs: row.context.sinceMs };
}

/** The machine's conditions are the members of the enum. */
export function stateMember(condition: Condition): State {
  return State[condition.toUpperCase() as Uppercase<Condition>];
}

/** The newest steps, oldest first: the recorded ones, then those of the evaluator. */
export function pathMessage(
  view: ProjectView,
  row: InstanceRow | undefined,
  events: InspectedInstance['events'],
): StepMessage[] {
  const recorded = row ? recordedSteps(view, row.instance) : [];
  const isFiring = row !== undefined && conditionOf(row.value) === 'firing';
  const { steps } = pathOf(isFiring ? [] : events, row);
  return [...recorded, ...steps.map((step) => stepMessage(step, Source.EVALUATOR))].slice(
    -STEPS_MAX,
  );
}

function recordedSteps(view: ProjectView, instance: string): StepMessage[] {
  const about = { machine: 'alertInstance', instance, limit: STEPS_MAX, descending: true };
  return view
    .transitions(about)
    .items.filter(({ from }) => from !== null)
    .map((recorded) => ({
      ...stepMessage(stepOf(recorded), Source.RECORDED),
      recordedUnixMs: BigInt(recorded.atMs),
    }))
    .toReversed();
}

/**
 * Time of the observation that decided it. Steps by people and timers have the time of recording.
 */
function stepOf({ event, atMs, from, to }: RecordedTransition): PathStep {
  return { event: String(event.type), eventMs: observedMsOf(event) ?? atMs, from: from ?? to, to };
}

/** A step with its states as the ids that `GetMachine` draws. */
export function stepMessage({ event, eventMs, from, to }: PathStep, source: Source): StepMessage {
  return {
    event,
    eventUnixMs: BigInt(eventMs),
    source,
    fromStates: stateIds('alertInstance', from),
    toStates: stateIds('alertInstance', to),
  };
}
