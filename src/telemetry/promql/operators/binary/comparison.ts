/**
 * Comparisons over whole columns, one plain loop an operator: to 1 where it holds and 0 where not.
 * NaN equals nothing, itself included.
 */
import type { BinaryOp } from '../../ast.ts';
import type { Operands } from './arithmetic.ts';

export type ComparisonOp = '==' | '!=' | '<' | '>' | '<=' | '>=';

/** 1 or 0 a step, as a presence or as values. */
type Truths = Uint8Array | Float64Array;

const COMPARISONS: ReadonlySet<BinaryOp> = new Set(['==', '!=', '<', '>', '<=', '>=']);

export function isComparison(op: BinaryOp): op is ComparisonOp {
  return COMPARISONS.has(op);
}

function equal({ lhs, rhs }: Operands, out: Truths): void {
  for (let i = 0; i < out.length; i++) out[i] = lhs[i] === rhs[i] ? 1 : 0;
}

function unequal({ lhs, rhs }: Operands, out: Truths): void {
  for (let i = 0; i < out.length; i++) out[i] = lhs[i] !== rhs[i] ? 1 : 0;
}

function less({ lhs, rhs }: Operands, out: Truths): void {
  for (let i = 0; i < out.length; i++) out[i] = (lhs[i] as number) < (rhs[i] as number) ? 1 : 0;
}

function atMost({ lhs, rhs }: Operands, out: Truths): void {
  for (let i = 0; i < out.length; i++) out[i] = (lhs[i] as number) <= (rhs[i] as number) ? 1 : 0;
}

const KERNELS: Readonly<Record<ComparisonOp, (operands: Operands, out: Truths) => void>> = {
  '==': equal,
  '!=': unequal,
  '<': less,
  '>': ({ lhs, rhs }, out) => less({ lhs: rhs, rhs: lhs }, out),
  '<=': atMost,
  '>=': ({ lhs, rhs }, out) => atMost({ lhs: rhs, rhs: lhs }, out),
};

/** Writes whether `lhs op rhs` holds at each step to `out`. */
export function computeComparison(op: ComparisonOp, operands: Operands, out: Truths): void {
  KERNELS[op](operands, out);
}
