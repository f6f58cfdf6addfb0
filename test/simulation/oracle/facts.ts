/**
 * The plain content of the two logs: the valid decisions, step by step in order, and the samples in
 * order of arrival. All oracles judge by these and by what clients and endpoints received; none of
 * them asks the service.
 */
import { decodeCommit } from '../../../streams/platform/commit/codec.ts';
import type { Actor, InstanceStep } from '../../../streams/platform/commit/commit.ts';
import type { LogEntry } from '../../../streams/telemetry/entry.ts';
import { decodeEntry } from '../../../streams/telemetry/entry-codec.ts';
import type { LogServer } from '../log-server.ts';

/** One decided step. */
export interface Fact {
  /** Position of its commit in EVENTS. */
  readonly sequence: number;
  /** Time at which that was stored, by the world's elapsed time, ms. */
  readonly elapsedMs: number;
  /** Time at which it was sent to the stream, likewise. */
  readonly sentMs: number;
  /** Time of the first send, soon after the decision. */
  readonly decidedMs: number;
  /** Time of the commit by its writer's clock, Unix ms. */
  readonly atMs: number;
  readonly project: string;
  /** Name of the process that decided it. */
  readonly writer: string;
  readonly by: Actor;
  readonly step: InstanceStep;
}

/** A committed request. */
export interface RequestFact {
  readonly sequence: number;
  readonly project: string;
  readonly scope: string;
  readonly id: string;
}

export interface LimitsFact {
  readonly sequence: number;
  readonly project: string;
  readonly rules: number;
  readonly destinations: number;
}

export interface Entry {
  readonly sequence: number;
  readonly elapsedMs: number;
  readonly sentMs: number;
  /** By the server's clock, Unix ms. */
  readonly storedMs: number;
  readonly partition: number;
  readonly entry: LogEntry;
  /** True if its sender learned that it is stored. */
  readonly isAnswered: boolean;
}

export interface Facts {
  readonly steps: readonly Fact[];
  readonly requests: readonly RequestFact[];
  readonly entries: readonly Entry[];
  /** Limits set for a project, in log order. */
  readonly limits: readonly LimitsFact[];
  /**
   * Revisions of rules, as `revisionOf`, whose first marker has left the log while a later marker
   * of the same revision (as a rename writes one) is still there. A reader that starts at the
   * beginning of the log then takes the revision to be in force from the later marker, which looks
   * back over its window only. Where everything before was decided, nothing differs. A breach that
   * was not reported, because it was late and no fresh one followed (EVAL-06), starts anew. Rows do
   * not say when a revision came into force.
   */
  readonly cutRules: ReadonlySet<string>;
  /** VMs represented by an incident of a data center, by its id. */
  readonly held: ReadonlyMap<string, readonly string[]>;
  /** Broken links of a chain, as sentences. */
  readonly broken: readonly string[];
}

export function factsOf(server: LogServer): Facts {
  const steps: Fact[] = [];
  const requests: RequestFact[] = [];
  const limits: LimitsFact[] = [];
  const heads = new Map<string, { readonly number: number; readonly hash: string }>();
  const broken: string[] = [];
  const held = new Map<string, readonly string[]>();
  for (const { sequence, data, elapsedMs, ...sent } of server.messages('EVENTS')) {
    const { sentElapsedMs: sentMs, firstSentElapsedMs: decidedMs } = sent;
    const { commit, hash } = decodeCommit(data);
    const { project, number, predecessor, writer, at: atMs } = commit;
    const head = heads.get(project) ?? { number: 0, hash: '' };
    // If two commits follow the same one, the first counts, wherever the other appears.
    if (number <= head.number) continue;
    if (number !== head.number + 1 || predecessor !== head.hash) {
      broken.push(`commit ${number} of ${project} at ${sequence} does not follow ${head.number}`);
      continue;
    }
    heads.set(project, { number, hash });
    for (const { by, request, steps: taken, records } of commit.decisions) {
      for (const step of taken) {
        steps.push({ sequence, elapsedMs, sentMs, decidedMs, atMs, project, writer, by, step });
      }
      for (const { kind, id, body } of records) {
        if (kind === 'incidentHeldVms') held.set(id, (body as unknown as { vms: string[] }).vms);
        if (kind !== 'projectLimits') continue;
        const set = body as unknown as Pick<LimitsFact, 'rules' | 'destinations'>;
        limits.push({ ...set, sequence, project });
      }
      if (request) requests.push({ sequence, project, scope: request.scope, id: request.id });
    }
  }
  const entries = entriesOf(server);
  return { steps, requests, limits, broken, held, entries, cutRules: cutRules(server, entries) };
}

/** A revision of a rule, as text. */
export function revisionOf(of: {
  readonly rule: string;
  readonly evaluationRevision: number;
}): string {
  return `${of.rule} ${of.evaluationRevision}`;
}

function cutRules(server: LogServer, entries: readonly Entry[]): Set<string> {
  const [gone, left] = [new Set<string>(), new Set<string>()];
  for (const { entry, sequence } of entries) {
    if (entry.kind !== 'rules') continue;
    const isCut = server.get('SAMPLES_0').at(sequence) === undefined;
    for (const each of entry.upserts) (isCut ? gone : left).add(revisionOf(each));
  }
  return gone.intersection(left);
}

function entriesOf(server: LogServer): Entry[] {
  return server.messages('SAMPLES_0').map((message) => ({
    sequence: message.sequence,
    elapsedMs: message.elapsedMs,
    sentMs: message.sentElapsedMs,
    storedMs: message.timeMs,
    partition: Number(message.subject.split('.')[2]),
    entry: decodeEntry(message.data),
    isAnswered: !server.get('SAMPLES_0').unanswered.has(message.sequence),
  }));
}
