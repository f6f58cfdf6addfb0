/**
 * The replay of a rule: the notifications that it would have sent on stored readings. It takes
 * seconds of the service's time, so it runs on request; a result of an earlier request is marked as
 * such. Nothing is sent.
 */

import { useSignal } from '@preact/signals';
import type { VNode } from 'preact';
import { ActionButton } from '../../../components/action-button.tsx';
import { DataView } from '../../../components/data-view.tsx';
import { Fact } from '../../../components/fact.tsx';
import { SelectField } from '../../../components/fields.tsx';
import { NoticeBox } from '../../../components/notice-box.tsx';
import { Time } from '../../../components/time.tsx';
import { read } from '../../../data/call.ts';
import { useVms, vmNamesOf } from '../../../data/catalogue.ts';
import { type Load, useLoaded } from '../../../data/loaded.ts';
import { idOf } from '../../../data/names.ts';
import { format } from '../../../data/preferences.ts';
import { formatCount } from '../../../messages/format.ts';
import { ReplayNotifications } from './replay-notifications.tsx';
import { texts } from './replay-texts.ts';
import {
  type Replay,
  type ReplayedSpec,
  ReplayVms,
  type Suggested,
  suggestVms,
} from './replay-vms.tsx';

export interface RuleReplayProps {
  readonly projectName: string;
  /** The rule as typed; undefined while it is incomplete. */
  readonly spec: ReplayedSpec | undefined;
}

const HOURS = [1, 6, 24] as const;
const HOUR_SECONDS = 3_600;

/** Options that the user can select. */
interface Requested {
  readonly spec: ReplayedSpec | undefined;
  readonly hours: number;
  /** Names; undefined for the default selection. */
  readonly chosen: readonly string[] | undefined;
}

/** The last request. */
interface ReplayRequest extends Requested {
  readonly spec: ReplayedSpec;
  /** Names of all VMs that the rule selects, ordered by display name. */
  readonly selected: readonly string[];
  /** Counter, so that the same request can be repeated. */
  readonly times: number;
}

export function RuleReplay({ projectName, spec }: RuleReplayProps): VNode {
  const hours = useSignal<number>(HOURS[1]);
  const chosen = useSignal<readonly string[] | undefined>(undefined);
  const requested = useSignal<ReplayRequest | undefined>(undefined);
  const names = vmNamesOf(useVms(projectName));
  const titleOf = (vmName: string): string => names.get(vmName) || idOf(vmName);
  const selected = spec?.allVms ? [...names.keys()] : (spec?.vmNames ?? []);
  const now = { spec, hours: hours.value, chosen: chosen.value };
  const isSame = requested.value !== undefined && keyOf(requested.value) === keyOf(now);
  return (
    <section class="rule-replay" aria-label={texts.title}>
      <h2 class="visually-hidden">{texts.title}</h2>
      <p class="weak">{texts.estimate}</p>
      <div class="replay-choice">
        <SelectField
          label={texts.period}
          value={String(hours.value)}
          options={HOURS.map((count) => ({ value: String(count), title: texts.hours(count) }))}
          onChange={(value) => {
            hours.value = Number(value);
          }}
        />
        <ReplayVms
          selected={selected}
          names={names}
          chosen={chosen.value}
          onChoose={(vms) => {
            chosen.value = vms;
          }}
        />
      </div>
      <p>
        <ActionButton
          blocked={blockedBy(spec, selected)}
          look={isSame ? 'quiet' : 'main'}
          onPress={() => {
            if (spec === undefined) return;
            const times = (requested.peek()?.times ?? -1) + 1;
            const byTitle = selected.toSorted((a, b) => titleOf(a).localeCompare(titleOf(b)));
            requested.value = {
              spec,
              selected: byTitle,
              times,
              hours: hours.peek(),
              chosen: chosen.peek(),
            };
          }}
        >
          {requested.value === undefined ? texts.run : texts.again}
        </ActionButton>
      </p>
      {requested.value !== undefined && (
        <>
          {!isSame && <NoticeBox tone="info" title={texts.changed} announce="status" />}
          <Answer projectName={projectName} request={requested.value} titleOf={titleOf} />
        </>
      )}
    </section>
  );
}

/** Equal for equal requests. */
function keyOf({ spec, hours, chosen }: Requested): string {
  return JSON.stringify([spec, hours, chosen]);
}

function blockedBy(
  spec: ReplayedSpec | undefined,
  selected: readonly string[],
): string | undefined {
  if (spec === undefined) return texts.incomplete;
  if ((spec.destinationNames ?? []).length === 0) return texts.noDestination;
  return selected.length === 0 ? texts.noVms : undefined;
}

interface AnswerProps {
  readonly projectName: string;
  readonly request: ReplayRequest;
  readonly titleOf: (vmName: string) => string;
}

function Answer({ projectName, request, titleOf }: AnswerProps): VNode {
  const loader = useLoaded(`replay ${request.times}`, loadReplay(projectName, request));
  return (
    <DataView
      of={loader}
      lines={6}
      missing={({ replay: { notifications, truncated, unreadVmNames } }) => [
        ...(unreadVmNames.length > 0 ? [texts.unread(unreadVmNames.map(titleOf).join(', '))] : []),
        ...(truncated ? [texts.truncated(formatCount(notifications.length, format.value))] : []),
      ]}
    >
      {({ replay, suggested }) => (
        <>
          <dl class="facts">
            <Fact title={texts.from}>
              <Time ms={Number(replay.startTimeUnix) * 1_000} /> –{' '}
              <Time ms={Number(replay.endTimeUnix) * 1_000} />
            </Fact>
            <Fact title={texts.vms}>
              {sentenceOf(suggested, request)}{' '}
              <span class="weak">{replay.vmNames.map(titleOf).join(', ')}</span>
            </Fact>
            <Fact title={texts.observed}>
              {texts.counts(
                formatCount(Number(replay.observedSamples), format.value),
                formatCount(Number(replay.expectedSamples), format.value),
              )}
            </Fact>
          </dl>
          {replay.notifications.length > 0 ? (
            <ReplayNotifications
              projectName={projectName}
              notifications={replay.notifications}
              titleOf={titleOf}
            />
          ) : (
            <p role="status">{replay.observedSamples === '0' ? texts.unobserved : texts.nothing}</p>
          )}
        </>
      )}
    </DataView>
  );
}

/** Which VMs were replayed, and why. */
function sentenceOf({ how, vmNames, fired }: Suggested, { selected }: ReplayRequest): string {
  const of = formatCount(selected.length, format.value);
  switch (how) {
    case 'all':
      return texts.allVms(vmNames.length);
    case 'worst':
      return texts.worstVms(vmNames.length, of, fired);
    case 'first':
      return texts.firstVms(vmNames.length, of);
    case 'chosen':
      return texts.chosenVms(vmNames.length);
  }
}

function loadReplay(
  projectName: string,
  { spec, hours, chosen, selected }: ReplayRequest,
): Load<{ readonly replay: Replay; readonly suggested: Suggested }> {
  return async (options) => {
    const requested = { projectName, spec, historySeconds: hours * HOUR_SECONDS };
    const suggested: Suggested = chosen
      ? { how: 'chosen', vmNames: chosen, fired: 0 }
      : await suggestVms(requested, selected, options);
    const request = { ...requested, vmNames: [...suggested.vmNames] };
    return { replay: await read('AlertService', 'replayAlertRule', request, options), suggested };
  };
}
