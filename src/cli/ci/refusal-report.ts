/**
 * A refused exchange, so that a workflow author can mend it: every claim the job showed, decoded
 * here from its own token, with marks at those that are MISSING or DIFFERENT. In a job it is also on
 * the summary page. The token itself is never printed.
 */
import type { ActionContext } from '../client/action.ts';
import { printable, refusalOf, type ServiceRefusal } from '../client/faults.ts';
import { table } from '../client/output.ts';
import { claimText } from '../identity/trust-review.ts';
import { PERMISSION_HINT } from './assertion.ts';
import { addToSummary } from './workflow.ts';

/** One entry of the refusal's `metadata.claims`. */
interface Difference {
  readonly claim: string;
  readonly got: string | null;
  /** Absent: only the owner of the trusted workflow may see it. null: the claim must be absent. */
  readonly expected?: string | null;
}

interface Row {
  readonly claim: string;
  readonly value: string;
  readonly mark: string;
}

/** Longest text of a claim that is shown. */
const VALUE_CHARS_MAX = 300;

/** Reports a refused exchange or verification; does nothing for other faults. */
export function reportRefusal(context: ActionContext, error: unknown, assertion: string): void {
  const refusal = refusalOf(error);
  if (refusal?.reason !== 'EXCHANGE_DENIED' && refusal?.reason !== 'BAD_ASSERTION') return;
  const rows = rowsOf(decodedClaims(assertion), differencesOf(refusal));
  const hints = hintsFor(refusal, context.environment);
  if (!context.json) {
    const cells = rows.map(({ claim, value, mark }) => [claim, value, mark]);
    context.report('Claims of this job:\n');
    context.report(table(['claim', 'value', ''], cells, 'The token cannot be decoded'));
    for (const hint of hints) context.report(`${hint}\n`);
  }
  addToSummary(context, summaryOf(refusal, rows, hints));
}

/** The payload of a JWT as claims and texts; {} when it is none. Nothing is verified: it is ours. */
function decodedClaims(assertion: string): Readonly<Record<string, string>> {
  try {
    const payload = Buffer.from(assertion.split('.')[1] ?? '', 'base64url').toString('utf8');
    const claims = JSON.parse(payload) as Record<string, unknown>;
    return Object.fromEntries(
      Object.entries(claims).map(([claim, value]) => [claim, textOf(value)]),
    );
  } catch {
    return {};
  }
}

function textOf(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  return text.length > VALUE_CHARS_MAX ? `${text.slice(0, VALUE_CHARS_MAX)}…` : text;
}

function differencesOf({ metadata }: ServiceRefusal): readonly Difference[] {
  try {
    const parsed: unknown = JSON.parse(metadata.claims ?? '[]');
    return Array.isArray(parsed) ? (parsed as Difference[]) : [];
  } catch {
    return [];
  }
}

/** What differs first, then the rest, so that the end of a log's screen is not what matters. */
function rowsOf(
  claims: Readonly<Record<string, string>>,
  differences: readonly Difference[],
): readonly Row[] {
  const differing = differences.map((difference) => ({
    claim: difference.claim,
    value: claimText(difference.got === null ? null : textOf(difference.got)),
    mark: markOf(difference),
  }));
  const rest = Object.entries(claims)
    .filter(([claim]) => !differences.some((difference) => difference.claim === claim))
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([claim, value]) => ({ claim, value: claimText(value), mark: '' }));
  return [...differing, ...rest];
}

function markOf({ got, expected }: Difference): string {
  const mark = got === null ? 'MISSING' : 'DIFFERENT';
  if (expected === undefined) return mark;
  if (expected === null) return `${mark}: has to be absent`;
  return `${mark}: expected ${claimText(textOf(expected))}`;
}

const PULL_REQUEST = /^pull_request/;

function hintsFor(
  { metadata }: ServiceRefusal,
  environment: ActionContext['environment'],
): string[] {
  const hints: string[] = [];
  if (PULL_REQUEST.test(environment.GITHUB_EVENT_NAME ?? '') || metadata.cause === 'PULL_REQUEST') {
    hints.push(
      'Pull requests are always refused, from forks and from branches: run it on push,\nworkflow_dispatch or schedule, as the trust was verified.',
    );
  }
  if (metadata.cause === 'IDENTITY_RENAMED') {
    hints.push(
      'The repository or its owner was renamed: verify the workflow again (svc trusts verify).',
    );
  }
  if (metadata.cause === 'IDENTITY_MISMATCH') {
    hints.push('Either run the job as it was verified, or verify this one (svc trusts verify).');
  }
  if (!environment.ACTIONS_ID_TOKEN_REQUEST_URL && environment.GITHUB_ACTIONS === 'true') {
    hints.push(PERMISSION_HINT);
  }
  return hints;
}

function summaryOf(
  refusal: ServiceRefusal,
  rows: readonly Row[],
  hints: readonly string[],
): string {
  const { reason, message, metadata } = refusal;
  const facts = ['cause', 'correlation'].flatMap((name) => {
    const value = metadata[name];
    return value === undefined ? [] : [`- ${name}: ${code(value)}`];
  });
  return [
    '### svc: this job was refused',
    '',
    `${code(reason)}: ${code(message)}`,
    '',
    ...facts,
    '',
    '| claim | this job | |',
    '| --- | --- | --- |',
    ...rows.map(({ claim, value, mark }) => {
      return `| ${code(claim)} | ${code(value)} | ${mark === '' ? '' : `**${code(mark)}**`} |`;
    }),
    '',
    ...hints.map(
      (hint) =>
        `${hint
          .split('\n')
          .map((line) => `> ${line}`)
          .join('\n')}\n`,
    ),
    '',
  ].join('\n');
}

/** A text as code: neither markup nor table cells of others. */
function code(text: string): string {
  return `\`${printable(text).replaceAll('`', "'").replaceAll('|', '\\|')}\``;
}
