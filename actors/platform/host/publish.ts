/**
 * Getting one commit into the chain, or knowing that it never will be: appends, repeats the same
 * bytes while the outcome is unknown, and judges by what the applier has read. The expected
 * sequence spares the stream a commit that comes too late; it decides nothing.
 */

import type { InstanceStore } from '../../../sqlite/platform/control/instance-store.ts';
import type { Clock } from '../../../streams/platform/clock.ts';
import type { EncodedCommit } from '../../../streams/platform/commit/codec.ts';
import { EVENTS_STREAM } from '../../../streams/platform/commit/events.ts';
import { withDeadline } from '../../../streams/platform/deadline.ts';
import { pause } from '../../../streams/platform/pause.ts';
import { fraction, type Random } from '../../../streams/platform/random.ts';
import { type Stream, StreamUnavailable } from '../../../streams/platform/stream.ts';
import type { Applier } from './applier.ts';
import type { HostCounters } from './counters.ts';

export interface PublishOptions {
  readonly stream: Stream;
  readonly store: InstanceStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly applier: Applier;
  readonly counters: HostCounters;
  readonly subject: string;
}

/** How long a commit is pursued before its submitters get an unknown outcome, ms. */
const PURSUE_MS = 10_000;
const RETRY_MS_MIN = 5;
const RETRY_MS_MAX = 1_000;

/**
 * The commit's position in EVENTS once it is applied here, or undefined when another commit has
 * taken its number for ever. Throws `StreamUnavailable` when neither could be found out in time:
 * the commit may still turn up, and is then judged like any other.
 */
export async function publishCommit(
  options: PublishOptions,
  encoded: EncodedCommit,
): Promise<number | undefined> {
  const { clock, applier } = options;
  applier.expect(encoded);
  try {
    const limit = { ms: PURSUE_MS };
    return await withDeadline(clock, limit, (overdue) => pursue(options, encoded, overdue));
  } finally {
    applier.unexpect(encoded.commit.id);
  }
}

async function pursue(
  options: PublishOptions,
  encoded: EncodedCommit,
  overdue: AbortSignal,
): Promise<number | undefined> {
  const { store, clock, random, counters } = options;
  const { project } = encoded.commit;
  let expected: number | undefined = store.lastSequence(project);
  let silence: StreamUnavailable | undefined;
  for (let tries = 0; ; tries++) {
    if (tries > 0) counters.appendRetries++;
    const answer = await append(options, encoded, expected);
    if (answer instanceof StreamUnavailable) {
      if (silence?.outcome !== 'unknown') silence = answer;
      const delayMs = Math.min(RETRY_MS_MIN * 2 ** tries, RETRY_MS_MAX);
      await pause(clock, delayMs * (0.5 + fraction(random)), overdue);
    } else {
      await applied(options, answer.sequence, overdue);
      // Refused although we have seen everything: a subject emptied by retention answers to 0.
      const last = store.lastSequence(project);
      if (!answer.stored) expected = tries > 0 ? undefined : answer.first > last ? 0 : last;
    }
    const fate = fateOf(store, encoded);
    if (fate !== undefined) return fate.sequence;
    if (answer instanceof StreamUnavailable ? overdue.aborted : answer.stored) {
      const why = silence?.message ?? 'the stream says it is stored, but does not hold it';
      const message = `Nothing is known of commit ${encoded.commit.id}: ${why}`;
      throw new StreamUnavailable(message, silence?.outcome ?? 'unknown');
    }
  }
}

/** What the stream answered, and up to which sequence one must read to know what it means. */
interface Answer {
  readonly stored: boolean;
  readonly sequence: number;
  /** First sequence that the stream still has; asked for only when it did not store. */
  readonly first: number;
}

/** One append; a stream that does not answer is an answer here. */
async function append(
  { stream, subject }: PublishOptions,
  { bytes, commit }: EncodedCommit,
  expected: number | undefined,
): Promise<Answer | StreamUnavailable> {
  try {
    const outcome = await stream.append({
      stream: EVENTS_STREAM,
      subject,
      data: bytes,
      messageId: commit.id,
      ...(expected === undefined ? {} : { expectedLastSubjectSequence: expected }),
    });
    if ('sequence' in outcome) return { stored: true, sequence: outcome.sequence, first: 0 };
    const state = await stream.state(EVENTS_STREAM);
    return { stored: false, sequence: state.lastSequence, first: state.firstSequence };
  } catch (error) {
    if (error instanceof StreamUnavailable) return error;
    throw error;
  }
}

async function applied(
  { applier }: PublishOptions,
  sequence: number,
  overdue: AbortSignal,
): Promise<void> {
  try {
    await applier.position.waitFor(sequence, overdue);
  } catch (cause) {
    const message = `EVENTS could not be read up to ${sequence}, where a commit may be`;
    throw new StreamUnavailable(message, 'unknown', { cause });
  }
}

/** Undefined: open. A sequence: it counts, there. None: another commit has its number. */
function fateOf(
  store: InstanceStore,
  { commit }: EncodedCommit,
): { readonly sequence: number | undefined } | undefined {
  const taken = store.commit(commit.project, commit.number);
  return taken && { sequence: taken.id === commit.id ? taken.sequence : undefined };
}
