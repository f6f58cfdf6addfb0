/**
 * One rule over the stored history of some VMs: the notifications that it would have sent. The
 * pipeline, the machines and the recheck are those of any replay; the source is history, and
 * destinations and recipients are the current ones. Runs in its own thread, for at most 10 s.
 *
 *     [ rows the rule knows when it is applied | rows and ticks of the period ]
 *                                              ^ the rule's marker
 *
 * Endpoints accept at once, and no one acknowledges or snoozes. A gap stays a gap.
 */
import { createHash } from 'node:crypto';
import type { RecipientReason } from '../../actors/alerting/eligible.ts';
import { evaluationRuleOf } from '../../actors/alerting/rule-markers.ts';
import { type AttemptDeps, kindOf } from '../../actors/delivery/attempt.ts';
import { startPerson } from '../../actors/identity/people-index.ts';
import type { Draft, Instance, ProjectView } from '../../actors/platform/host/host-port.ts';
import type { ObservedRow } from '../../actors/telemetry/collectors/collector.ts';
import type { AlertRuleSpec } from '../../machines/alerting/alert-rule.ts';
import { HistoryError, ReadCancelled } from '../../sqlite/telemetry/history/history-error.ts';
import type { HistoryView } from '../../sqlite/telemetry/history/store/history-view.ts';
import type { SlowThreadMethod } from '../../sqlite/telemetry/history/threads/supervised-thread.ts';
import type { Clock } from '../../streams/platform/clock.ts';
import { SYSTEM_PROJECT } from '../../streams/platform/commit/commit.ts';
import { itemsOf } from '../../streams/platform/commit/page.ts';
import type { EvaluationRule, LogEntry } from '../../streams/telemetry/entry.ts';
import { expectedIntervals, ObservedIntervals } from '../../streams/telemetry/metrics/coverage.ts';
import { seriesNamesOf } from '../../streams/telemetry/metrics/query.ts';
import { VM_STATES } from '../../streams/telemetry/samples/batch.ts';
import type { VmColumns } from '../../streams/telemetry/samples/columns.ts';
import { decodeChatBody } from '../delivery/notify/chat/chat-kind.ts';
import { decodeLetter } from '../delivery/notify/email/letter.ts';
import { isRegistered, renderers } from '../delivery/notify/kinds.ts';
import { readFromMs } from '../telemetry/query/preview/alert-preview.ts';
import {
  REPLAY_BODY_CHARACTERS_MAX,
  REPLAY_NOTIFICATIONS_MAX,
} from '../telemetry/query/threads/limits.ts';
import { EMPTY, ReplayNode } from './node.ts';
import { replayLog, saveRules, startDestination, surround } from './replay.ts';
import { LIVE_INTERVAL_MS, logOf, paceOf } from './replay-log.ts';

/** The checked request, as plain data, because it is sent to a thread. Times are Unix ms. */
export interface RuleReplayRequest {
  readonly project: string;
  /** '' if it has none. */
  readonly projectDisplayName: string;
  /** Enabled, whatever was requested. */
  readonly spec: AlertRuleSpec;
  readonly vms: readonly ReplayedVm[];
  /** The destinations that the specification names. */
  readonly destinations: readonly ReplayedDestination[];
  /** The period, (fromMs, toMs]. */
  readonly fromMs: number;
  readonly toMs: number;
  /** Older data is not read. */
  readonly retainedFromMs: number;
  /** Origin of links in bodies; absent if no body is rendered. */
  readonly publicUrl?: string;
}

export interface ReplayedVm {
  readonly id: string;
  readonly displayName: string;
  readonly datacenter: string;
  /** Time when its first row arrived, Unix ms. */
  readonly registeredMs: number;
  /** Data up to this time is not its own, Unix ms; absent if it was never retired. */
  readonly generationMs?: number;
}

export interface ReplayedDestination {
  readonly id: string;
  readonly kind: string;
  readonly displayName: string;
  readonly state: 'active' | 'paused' | 'deleted';
  /** Recipients of a mail destination. */
  readonly recipients: readonly ReplayedRecipient[];
}

export interface ReplayedRecipient {
  readonly id: string;
  /** The reason why nothing is sent to them; absent if mail is sent. */
  readonly reason?: RecipientReason;
}

export interface RuleReplay {
  /** Oldest first. */
  readonly notifications: readonly ReplayedNotification[];
  /** True if there were more. */
  readonly truncated: boolean;
  /** VMs whose history could not be read. */
  readonly unread: readonly string[];
  /** Number of observation times within the period with a reading that the metric needs. */
  readonly observedSamples: number;
  readonly expectedSamples: number;
}

export interface ReplayedNotification {
  /** Unix ms. */
  readonly atMs: number;
  readonly event: 'FIRING' | 'REPEATED' | 'RECOVERED' | 'TEST';
  /** VM id; '' for a condition of a whole data center. */
  readonly vm: string;
  /** Canonical label part of the series. */
  readonly labels: string;
  readonly destination: string;
  /** Id of the mail recipient. */
  readonly recipient: string | null;
  /** State of the delivery: `sent`, or a state in which nothing is sent. */
  readonly state: string;
  readonly reason: string;
  /**
   * The message that would have been sent; absent if there was none, or if it was not requested.
   */
  readonly body?: string;
}

/** Throws `ReadCancelled` when `isCancelled` returns true. A VM that cannot be read is named. */
export async function replayRule(
  history: Pick<HistoryView, 'read' | 'newestTime'>,
  request: RuleReplayRequest,
  isCancelled: () => boolean,
): Promise<RuleReplay> {
  const { project, spec, vms, fromMs, toMs } = request;
  const stored = readRows(history, request, isCancelled);
  const replayed = vms.filter(({ id }) => !stored.unread.includes(id));
  const coverage = { unread: stored.unread, ...coverageOf(replayed, stored.rows, request) };
  const nothing = { notifications: [], truncated: false, ...coverage };
  if (request.destinations.length === 0) return nothing;
  const bodies = new RenderedBodies(request);
  const node = await ReplayNode.open(project, fromMs, (clock) => bodies.at(clock));
  try {
    const { past, log } = logsOf(request, stored.rows);
    const known = new Map(
      replayed.map(({ id, displayName, datacenter }) => [id, { displayName, datacenter }]),
    );
    const surroundings = await surround(node, project, [], known);
    await startAudience(node, request);
    const markers = await saveRules(node, project, [spec], fromMs);
    const made = countDeliveries(node);
    const run = { node, surroundings, rows: 0, samples: 0, lastMs: fromMs };
    await replayLog(run, entries(markers, log), {
      past,
      isOver() {
        if (isCancelled()) throw new ReadCancelled();
        return made.count > REPLAY_NOTIFICATIONS_MAX;
      },
    });
    if (made.count <= REPLAY_NOTIFICATIONS_MAX) await node.moveTo(toMs);
    return { ...bounded(notificationsOf(node.host.view(project), bodies)), ...coverage };
  } finally {
    await node.close();
  }
}

interface StoredRows {
  /** Rows of all VMs, oldest first. */
  readonly rows: readonly ObservedRow[];
  readonly unread: readonly string[];
}

/** History of the VMs, from the time at which the rule starts to know it. */
function readRows(
  history: Pick<HistoryView, 'read' | 'newestTime'>,
  request: RuleReplayRequest,
  isCancelled: () => boolean,
): StoredRows {
  const { project, fromMs, toMs } = request;
  const rule = evaluatedRule(request);
  const names = seriesNamesOf(rule.metricId);
  const rows: ObservedRow[] = [];
  const unread: string[] = [];
  for (const { id: vm, generationMs = Number.NEGATIVE_INFINITY } of request.vms) {
    if (isCancelled()) throw new ReadCancelled();
    const retainedFromMs = Math.max(request.retainedFromMs, generationMs + 1);
    try {
      const since = readFromMs(history, { rule, fromMs, retainedFromMs }, vm);
      const range = { fromMs: Math.max(since, retainedFromMs), toMs, names };
      rows.push(...rowsOf(vm, history.read({ project, vm, ...range }, isCancelled)));
    } catch (error) {
      if (!(error instanceof HistoryError)) throw error;
      unread.push(vm);
    }
  }
  // Stable, so that each VM's own rows keep their order.
  rows.sort((a, b) => a.observedMs - b.observedMs);
  return { rows, unread };
}

function evaluatedRule({ project, spec }: RuleReplayRequest): EvaluationRule {
  const rule = evaluationRuleOf(project, { rule: 'replay', spec, evaluationRevision: 1 });
  if (!rule) throw new Error('The enabled rule has no evaluation');
  return rule;
}

/** The rows of a VM as a source would send them. An absent reading stays absent. */
function* rowsOf(vm: string, columns: VmColumns): Generator<ObservedRow> {
  const { timesMs, boot, state, stateReason, strings, vcpus } = columns;
  const series = [...columns.series];
  for (const [i, observedMs] of timesMs.entries()) {
    const count = vcpus[i] ?? Number.NaN;
    yield {
      vm,
      displayName: vm,
      observedMs,
      sequence: i,
      bootId: strings[boot[i] ?? 0] ?? '',
      state: VM_STATES[state[i] ?? 0] ?? 'UNKNOWN',
      stateReason: strings[stateReason[i] ?? 0] ?? '',
      ...(!Number.isNaN(count) && { vcpus: count }),
      values: series.flatMap(([key, column]): [string, number][] => {
        const value = column[i] ?? Number.NaN;
        return Number.isNaN(value) ? [] : [[key, value]];
      }),
    };
  }
}

/** The share of the VMs' expected data within the period that exists. */
function coverageOf(
  vms: readonly ReplayedVm[],
  rows: readonly ObservedRow[],
  request: RuleReplayRequest,
): Pick<RuleReplay, 'observedSamples' | 'expectedSamples'> {
  const { fromMs, toMs } = request;
  const isAge = seriesNamesOf(evaluatedRule(request).metricId).length === 0;
  const seen = new Map<string, { readonly firstMs: number; readonly within: ObservedIntervals }>();
  for (const { vm, observedMs, values } of rows) {
    const one = seen.get(vm) ?? { firstMs: observedMs, within: new ObservedIntervals() };
    seen.set(vm, one);
    if (observedMs > fromMs && (isAge || values.length > 0)) one.within.add(observedMs);
  }
  let [observedSamples, expectedSamples] = [0, 0];
  for (const { id, registeredMs } of vms) {
    const one = seen.get(id);
    // Buffered rows are older than the VM's registration.
    const knownMs = Math.min(registeredMs, one?.firstMs ?? registeredMs);
    const expected = expectedIntervals({ fromMs, toMs, knownMs });
    expectedSamples += expected;
    observedSamples += one?.within.within(expected) ?? 0;
  }
  return { observedSamples, expectedSamples };
}

/** Two ticks before the period, so that silent VMs are known from its start. */
const LISTENED_MS = 60_000;

/** The log before the period, which the rule knows, and that of the period. */
function logsOf({ project, fromMs, toMs }: RuleReplayRequest, rows: readonly ObservedRow[]) {
  const pace = paceOf(fromMs, LIVE_INTERVAL_MS);
  const isBefore = ({ observedMs }: ObservedRow): boolean => observedMs <= fromMs;
  const before = rows.filter(isBefore);
  const firstMs = Math.min(before[0]?.observedMs ?? fromMs, fromMs - LISTENED_MS);
  const within = rows.slice(before.length);
  return {
    past: () => logOf(project, before, pace, { fromMs: firstMs, untilMs: fromMs }),
    log: logOf(project, within, pace, { fromMs, untilMs: toMs }),
  };
}

function* entries(markers: readonly LogEntry[], log: Iterable<LogEntry>): Generator<LogEntry> {
  yield* markers;
  yield* log;
}

/** The project's name, the destinations and their recipients, as they are now. */
async function startAudience(node: ReplayNode, request: RuleReplayRequest): Promise<void> {
  const { project, projectDisplayName, destinations } = request;
  await node.submit((draft) => {
    const body = { displayName: projectDisplayName, createdMs: draft.at };
    draft.putRecord({ kind: 'project', id: project, body });
  });
  const person = { id: 'replay', displayName: '', email: ADDRESS };
  await node.submit((draft) => startPerson(draft, person), SYSTEM_PROJECT);
  for (const { id, kind, displayName, state, recipients } of destinations) {
    await node.submit((draft) => {
      const { at } = draft;
      startDestination(draft, { id, project, kind, displayName });
      if (state === 'paused') {
        draft.send('destination', id, { type: 'paused', at, reason: '', by: 'replay' });
      }
      for (const recipient of recipients) startRecipient(draft, id, recipient);
      if (state === 'deleted') draft.send('destination', id, { type: 'deleted', at, by: 'replay' });
    });
  }
}

/** Used for every address, because nothing is sent and bodies do not contain addresses. */
const ADDRESS = 'replay@invalid';
const LINK = 'replay';

/** A recipient that the recheck finds in the given state. */
function startRecipient(
  draft: Draft,
  destination: string,
  { id, reason }: ReplayedRecipient,
): void {
  const { at, project } = draft;
  const membership = `${id}-member`;
  if (reason !== 'RECIPIENT_REMOVED') {
    const named = { person: 'replay', displayName: '', email: ADDRESS };
    draft.start('membership', membership, { at, project, ...named, role: 'VIEWER', by: 'replay' });
  }
  const address = { membership, address: ADDRESS, tokenHash: LINK };
  draft.start('recipient', id, { at, project, destination, ...address });
  if (reason === 'RECIPIENT_NOT_VERIFIED') return;
  if (reason === 'RECIPIENT_UNSUBSCRIBED')
    draft.send('recipient', id, { type: 'unsubscribed', at });
  else if (reason === 'RECIPIENT_BOUNCED') {
    draft.send('recipient', id, { type: 'bounced', at, reason: '' });
  } else draft.send('recipient', id, { type: 'verified', at, tokenHash: LINK });
}

/** Counts the deliveries of the node from now on. */
function countDeliveries(node: ReplayNode): { readonly count: number } {
  const made = { count: 0 };
  node.host.onApplied(({ commit }) => {
    for (const { records } of commit.decisions) {
      for (const { kind } of records) if (kind === 'delivery') made.count++;
    }
  });
  return made;
}

/** Renders the messages, and keeps them as text. */
class RenderedBodies {
  readonly #publicUrl: string | undefined;
  readonly #texts = new Map<string, string>();

  constructor({ publicUrl }: Pick<RuleReplayRequest, 'publicUrl'>) {
    this.#publicUrl = publicUrl;
  }

  at(clock: Clock): AttemptDeps['bodies'] {
    return {
      of: async (view, delivery, id) => {
        const kind = kindOf(view, delivery);
        const publicUrl = this.#publicUrl;
        if (publicUrl === undefined || !isRegistered(kind)) return EMPTY;
        const bytes = renderers[kind](view, delivery, { id, publicUrl, nowMs: clock.now() });
        this.#texts.set(id, textOf(kind, bytes));
        return { bytes, digest: createHash('sha256').update(bytes).digest('hex'), isKept: true };
      },
      hold: () => {},
    };
  }

  textOf(id: string): string | undefined {
    return this.#texts.get(id);
  }
}

/** A readable stored body: JSON, or a mail's subject and text. */
function textOf(kind: string, bytes: Uint8Array): string {
  if (kind === 'webhook') return Buffer.from(bytes).toString('utf8');
  if (kind !== 'email') return decodeChatBody(bytes).full;
  const { subject, text } = decodeLetter(bytes);
  return `${subject}\n\n${text}`;
}

const PAGE = 1_000;

function notificationsOf(view: ProjectView, bodies: RenderedBodies): ReplayedNotification[] {
  const deliveries = [...itemsOf(PAGE, (page) => view.instances('delivery', page))];
  return deliveries.map((row) => notificationOf(view, row, bodies)).toSorted(byTime);
}

function notificationOf(
  view: ProjectView,
  { instance, value, context }: Instance<'delivery'>,
  bodies: RenderedBodies,
): ReplayedNotification {
  const { event, destination, recipient, reason, attempts, createdMs, incident } = context;
  const body = value === 'sent' ? bodies.textOf(instance) : undefined;
  const of = view.record('incident', incident)?.body;
  return {
    atMs: attempts[0]?.startedMs ?? createdMs,
    event,
    vm: of?.vm ?? '',
    labels: of?.labels ?? '',
    destination,
    recipient,
    state: String(value),
    reason: reason ?? '',
    ...(body !== undefined && { body }),
  };
}

function byTime(a: ReplayedNotification, b: ReplayedNotification): number {
  return a.atMs - b.atMs || (keyOf(a) < keyOf(b) ? -1 : 1);
}

function keyOf({ vm, labels, destination, recipient }: ReplayedNotification): string {
  return JSON.stringify([vm, labels, destination, recipient]);
}

/** The first ones that fit into a response. */
function bounded(all: readonly ReplayedNotification[]) {
  let characters = 0;
  const fits = all.findIndex(({ body = '' }, i) => {
    characters += body.length;
    return i >= REPLAY_NOTIFICATIONS_MAX || characters > REPLAY_BODY_CHARACTERS_MAX;
  });
  return { notifications: fits < 0 ? all : all.slice(0, fits), truncated: fits >= 0 };
}

/** The methods of a replay thread, by name. */
export const ruleReplayMethods = (
  history: HistoryView,
): Readonly<Record<string, SlowThreadMethod>> => ({
  replayRule: async (request: RuleReplayRequest, isCancelled) => ({
    result: await replayRule(history, request, isCancelled),
  }),
});
