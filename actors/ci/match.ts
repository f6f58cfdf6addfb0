/**
 * Is a workflow the one that was approved? Every claim that was bound is compared, exactly; one that
 * is missing or no text is a difference, and so is one that was approved as absent and is there.
 * What was not bound may appear: a platform may add claims. `sub` is never looked at: its form
 * changes, and organisations can rewrite it.
 */
import type { ObservedClaims } from '../../machines/ci/ci-verification.ts';
import type { ShownIdentity } from './port.ts';

/** One claim that does not do. */
export interface ClaimDifference {
  readonly claim: string;
  /** null = the token does not have it. */
  readonly got: string | null;
  /** Only there when it may be told. */
  readonly expected?: string | null;
  /** What would do, as a sentence that tells nothing of what was approved. */
  readonly why?: string;
}

export type Comparison =
  | { readonly isSame: true }
  | {
      readonly isSame: false;
      /** In the order of the claims' names. Told with what was expected to the owner alone. */
      readonly differences: readonly ClaimDifference[];
      /** true: the ids are those approved, the names are others. */
      readonly isRenamed: boolean;
    };

/**
 * Compares what a token shows with what was approved. The caller is taken for the owner, and told
 * what was expected, only when every one of `ownerClaims` is there on both sides and the same; an
 * empty list proves nothing.
 */
export function compareClaims(
  approved: ObservedClaims,
  shown: ObservedClaims,
  { ownerClaims, nameClaims }: Pick<ShownIdentity, 'ownerClaims' | 'nameClaims'>,
): Comparison {
  const names = Object.keys(approved).sort();
  const differing = names.filter((name) => !isSame(approved, shown, name));
  const isOwner =
    ownerClaims.length > 0 &&
    ownerClaims.every((name) => claimOf(approved, name) && isSame(approved, shown, name));
  // Without the ids of its owner no identity is one, even if nothing differs.
  if (differing.length === 0 && isOwner) return { isSame: true };
  const named = differing.length > 0 ? differing : ownerClaims;
  return {
    isSame: false,
    differences: named.map((claim) => ({
      claim,
      got: textOf(claimOf(shown, claim)),
      ...(isOwner && { expected: textOf(claimOf(approved, claim)) }),
    })),
    isRenamed: isOwner && differing.some((claim) => nameClaims.includes(claim)),
  };
}

/** Both are the same text, or both are absent. */
function isSame(approved: ObservedClaims, shown: ObservedClaims, name: string): boolean {
  const [wanted, got] = [claimOf(approved, name), claimOf(shown, name)];
  return wanted === got && (wanted === null || typeof wanted === 'string');
}

/** Rows and tokens come from outside: what is in them may be anything. */
function claimOf(claims: ObservedClaims, name: string): unknown {
  return Object.hasOwn(claims, name) ? (claims[name] ?? null) : null;
}

function textOf(value: unknown): string | null {
  return value === null || typeof value === 'string' ? value : `(a ${typeof value})`;
}
