/**
 * Deciding a batch: submissions, one after another, on the project's head and the changes of
 * earlier ones in the batch, until the commit is full. Synchronous and without outside effects: a
 * batch that loses its race is simply decided again.
 */

import type { Head } from '../../../streams/platform/commit/chain.ts';
import {
  type ChangeUse,
  isByCaller,
  sumOfUse,
  useOf,
} from '../../../streams/platform/commit/change-use.ts';
import {
  decisionBytes,
  type EncodedCommit,
  type EncodedDecision,
  encodeCommit,
  encodeDecision,
  fitsCommit,
} from '../../../streams/platform/commit/codec.ts';
import type { Decision } from '../../../streams/platform/commit/commit.ts';
import { assertJson } from '../../../streams/platform/commit/json.ts';
import {
  REQUEST_KEPT_MS,
  type RecordedRequest,
  type StoredView,
} from '../../../streams/platform/commit/projection.ts';
import { Refusal } from '../../../streams/platform/refusal.ts';
import { StreamUnavailable } from '../../../streams/platform/stream.ts';
import { DecisionDraft, type Interpretation, Overlay } from './draft.ts';
import type { ChangeAdmission, Submission } from './host-port.ts';

/** A submission in the committer's view; only its caller knows the type of its response. */
export type AnySubmission = Submission<unknown>;

/** Outcome of a submission, provided the batch's commit is applied. */
export type Verdict =
  | { readonly kind: 'decided'; readonly answer: unknown }
  | { readonly kind: 'replayed'; readonly answer: unknown; readonly sequence: number }
  /** `fault`: true if it is a mistake of ours, not a `Refusal`. */
  | { readonly kind: 'rejected'; readonly error: unknown; readonly fault: boolean };

/** Outcome of a batch: its verdicts, and the commit to append. */
export interface Batch {
  /** One per submission taken, in order; the others no longer fitted. */
  readonly verdicts: readonly Verdict[];
  /** Undefined if nothing has changed. */
  readonly encoded?: EncodedCommit;
  /** The decisions in it. */
  readonly decisions: readonly EncodedDecision[];
}

/** The head on which a batch is decided, and everything that a decision may read. */
export interface BatchContext extends Interpretation {
  readonly view: StoredView;
  readonly head: Head;
  readonly request: (scope: string, id: string) => RecordedRequest | undefined;
  /** Time of the commit, Unix ms; not before the head's. */
  readonly at: number;
  readonly id: string;
  readonly writer: string;
  /** Absent: every change may be committed. */
  readonly admission?: ChangeAdmission;
  /** Callers' changes on the day of `at`, without this batch. */
  readonly used: () => ChangeUse;
  /** Checked between decisions: true ends the batch early, to let others have the thread. */
  readonly isSpent: () => boolean;
}

/** Decides as many `submissions` as fit into one commit, at least the first. */
export function decideBatch(context: BatchContext, submissions: Iterable<AnySubmission>): Batch {
  const overlay = new Overlay(context.view, context.machines);
  const verdicts: Verdict[] = [];
  const decisions: EncodedDecision[] = [];
  let events = 0;
  let bytes = 0;
  let used = context.used();
  for (const submission of submissions) {
    if (verdicts.length > 0 && context.isSpent()) break;
    const { verdict, encoded } = decide(context, overlay, submission, used);
    if (encoded) {
      events += encoded.events;
      bytes += decisionBytes(encoded);
      if (!fitsCommit(events, bytes)) {
        overlay.rollback();
        if (decisions.length > 0) break;
        verdicts.push(tooLarge(encoded));
        events = 0;
        bytes = 0;
        continue;
      }
      decisions.push(encoded);
      if (isByCaller(submission)) used = sumOfUse(used, usedBy(encoded));
    }
    verdicts.push(verdict);
  }
  if (decisions.length === 0) return { verdicts, decisions };
  return { verdicts, decisions, encoded: encodeBatch(context, decisions) };
}

/** The commit of these decisions on the context's head. */
function encodeBatch(
  context: Pick<BatchContext, 'view' | 'head' | 'at' | 'id' | 'writer'>,
  decisions: readonly EncodedDecision[],
): EncodedCommit {
  const { head, at, id, writer } = context;
  const { project } = context.view;
  const about = { id, project, number: head.number + 1, predecessor: head.hash, at, writer };
  return encodeCommit(about, decisions);
}

function decide(
  context: BatchContext,
  overlay: Overlay,
  submission: AnySubmission,
  used: ChangeUse,
): { verdict: Verdict; encoded?: EncodedDecision } {
  overlay.savepoint();
  try {
    const recorded = recordedAnswer(context, submission);
    if (recorded) return { verdict: recorded };
    const draft = new DecisionDraft(overlay, context, context.at);
    const answer = submission.decide(draft);
    const verdict: Verdict = { kind: 'decided', answer };
    const request = submission.request && { ...submission.request, answer: answerOf(answer) };
    const encoded = encodeDraft(draft, submission, request);
    if (encoded === undefined) return { verdict };
    const { at } = context;
    const { steps } = encoded.decision;
    const change = { submission, view: draft, at, steps, use: usedBy(encoded), used };
    const refusal = context.admission?.refusalOf(change);
    if (refusal === undefined) return { verdict, encoded };
    // A request that changes nothing is answered, such as the revocation of a revoked key.
    if (encoded.events === 0) return { verdict };
    throw refusal;
  } catch (error) {
    overlay.rollback();
    const isRefused = error instanceof Refusal || error instanceof StreamUnavailable;
    return { verdict: { kind: 'rejected', error, fault: !isRefused } };
  }
}

function usedBy(encoded: EncodedDecision): ChangeUse {
  return useOf(encoded.decision, decisionBytes(encoded));
}

/** The draft's decision; undefined if it changes nothing. */
function encodeDraft(
  { steps, changes: records, forgotten, truncation }: DecisionDraft,
  { by }: AnySubmission,
  request: Decision['request'],
): EncodedDecision | undefined {
  const events = steps.length + records.length + forgotten.length;
  if (events === 0 && truncation === undefined && request === undefined) return undefined;
  return encodeDecision({
    by,
    ...(request && { request }),
    steps,
    records,
    ...(forgotten.length > 0 && { forgotten }),
    ...(truncation && { truncation }),
  });
}

/** The response of an earlier committed request; refused if the id stood for a different one. */
function recordedAnswer(context: BatchContext, submission: AnySubmission): Verdict | undefined {
  if (submission.request === undefined) return undefined;
  const { scope, id, fingerprint } = submission.request;
  const recorded = context.request(scope, id);
  if (recorded === undefined || recorded.atMs < context.at - REQUEST_KEPT_MS) return undefined;
  if (recorded.fingerprint !== fingerprint) throw requestIdReused(id);
  return { kind: 'replayed', answer: recorded.answer, sequence: recorded.sequence };
}

/** The refusal of a request id that has been used for another request. */
export function requestIdReused(id: string): Refusal {
  return new Refusal(
    'REQUEST_ID_REUSED',
    `Request id ${JSON.stringify(id)} was used for another request: use a new one`,
  );
}

function answerOf(answer: unknown): Readonly<Record<string, unknown>> {
  assertJson(answer, 'answer');
  if (typeof answer === 'object' && answer !== null && !Array.isArray(answer)) {
    return answer as Record<string, unknown>;
  }
  throw new TypeError('A submission with a request must answer with an object');
}

function tooLarge({ events, line }: EncodedDecision): Verdict {
  const error = new Refusal(
    'REQUEST_TOO_LARGE',
    `One change has ${events} events and ${line.length} bytes, more than a commit holds`,
  );
  return { kind: 'rejected', error, fault: false };
}
