/**
 * Responses to recent batches. A batch with the same id and the same rows gets the same response
 * and is not stored twice. An id alone proves nothing, because a sender that counts from 1 reuses
 * its ids after a restart. So a digest of the rows is kept with the response.
 */
import { hash } from 'node:crypto';
import { ProjectShares } from '../../platform/project-shares.ts';
import type { IngestRow } from '../../vms/sent-row.ts';
import { isSameList } from './ingest-limits.ts';
import type { WriteAnswer, WriteRequest } from './ingest-port.ts';

/** Number of responses kept for all projects; each project has at least an equal share. */
const ANSWERS_KEPT = 10_000;

interface Kept {
  readonly digest: string;
  readonly answer: Promise<WriteAnswer>;
}

/** Responses by project, sender and batch id; a project's oldest are dropped first. */
export class BatchAnswers {
  readonly #kept = new ProjectShares<Kept>(ANSWERS_KEPT);

  /** The kept response of this batch; otherwise the one of `store`, kept unless it rejects. */
  answer(request: WriteRequest, store: () => Promise<WriteAnswer>): Promise<WriteAnswer> {
    const { project, reach, batchId } = request;
    const key = JSON.stringify([reach?.name, reach?.vm, batchId]);
    const digest = digestOf(request);
    const before = this.#kept.get(project, key);
    if (before?.digest === digest) return before.answer;
    const kept = { digest, answer: store() };
    this.#kept.put(project, key, kept);
    kept.answer.catch(() => {
      if (this.#kept.get(project, key) === kept) this.#kept.delete(project, key);
    });
    return kept.answer;
  }
}

/** A digest of everything sent: equal requests have equal digests. */
function digestOf({ rows, indexes, rejected }: WriteRequest): string {
  const digest = digestOfRows(rows);
  if (indexes === undefined && rejected === undefined) return digest;
  return digest + hash('sha256', JSON.stringify([indexes, rejected]), 'base64');
}

function digestOfRows(rows: readonly IngestRow[]): string {
  let size = 0;
  for (const { values } of rows) size += values.length + 5;
  const numbers = new Float64Array(size);
  const texts: string[] = [];
  let series: readonly string[] | undefined;
  let at = 0;
  for (const row of rows) {
    numbers.set([row.values.length, row.observedMs, row.sequence, row.vcpus, row.state], at);
    numbers.set(row.values, at + 5);
    at += 5 + row.values.length;
    texts.push(row.vm, row.boot, row.stateReason, row.displayName ?? '');
    // Rows of one layout usually share its list, which is then hashed only once.
    if (!isSameList(row.series, series)) texts.push(...row.series);
    series = row.series;
  }
  return hash('sha256', numbers, 'base64') + hash('sha256', JSON.stringify(texts), 'base64');
}
