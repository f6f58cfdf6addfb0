/**
 * Binary arithmetic over whole columns, one plain loop per operator, so that each stays
 * monomorphic. All steps are computed, also those without a value: that is cheaper than a check,
 * and values where nothing is present are ignored. Follows Go's `math`, as Prometheus does.
 */
import type { BinaryOp } from '../../ast.ts';

export type ArithmeticOp = '+' | '-' | '*' | '/' | '%' | '^' | 'atan2';

export function isArithmetic(op: BinaryOp): op is ArithmeticOp {
  return ARITHMETIC.has(op);
}

const ARITHMETIC: ReadonlySet<BinaryOp> = new Set(['+', '-', '*', '/', '%', '^', 'atan2']);

export interface Operands {
  readonly lhs: Float64Array;
  readonly rhs: Float64Array;
}

function add({ lhs, rhs }: Operands, out: Float64Array): void {
  for (let i = 0; i < out.length; i++) out[i] = (lhs[i] as number) + (rhs[i] as number);
}

function subtract({ lhs, rhs }: Operands, out: Float64Array): void {
  for (let i = 0; i < out.length; i++) out[i] = (lhs[i] as number) - (rhs[i] as number);
}

function multiply({ lhs, rhs }: Operands, out: Float64Array): void {
  for (let i = 0; i < out.length; i++) out[i] = (lhs[i] as number) * (rhs[i] as number);
}

function divide({ lhs, rhs }: Operands, out: Float64Array): void {
  for (let i = 0; i < out.length; i++) out[i] = (lhs[i] as number) / (rhs[i] as number);
}

/** With the sign of the dividend, in Go's `math.Mod` as in JavaScript. */
function remainder({ lhs, rhs }: Operands, out: Float64Array): void {
  for (let i = 0; i < out.length; i++) out[i] = (lhs[i] as number) % (rhs[i] as number);
}

function raise({ lhs, rhs }: Operands, out: Float64Array): void {
  for (let i = 0; i < out.length; i++) out[i] = power(lhs[i] as number, rhs[i] as number);
}

function arcTangent({ lhs, rhs }: Operands, out: Float64Array): void {
  for (let i = 0; i < out.length; i++) out[i] = Math.atan2(lhs[i] as number, rhs[i] as number);
}

/** Go's `math.Pow`: 1 to any power is 1, and so is -1 to an infinite one; NaN in JavaScript. */
function power(base: number, exponent: number): number {
  if (base === 1) return 1;
  if (base === -1 && !Number.isFinite(exponent) && !Number.isNaN(exponent)) return 1;
  return base ** exponent;
}

const ARITHMETIC_KERNELS: Readonly<
  Record<ArithmeticOp, (operands: Operands, out: Float64Array) => void>
> = {
  '+': add,
  '-': subtract,
  '*': multiply,
  '/': divide,
  '%': remainder,
  '^': raise,
  atan2: arcTangent,
};

/** Writes `lhs op rhs` of each step to `out`. */
export function computeArithmetic(op: ArithmeticOp, operands: Operands, out: Float64Array): void {
  ARITHMETIC_KERNELS[op](operands, out);
}

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

const COMPARISON_KERNELS: Readonly<
  Record<ComparisonOp, (operands: Operands, out: Truths) => void>
> = {
  '==': equal,
  '!=': unequal,
  '<': less,
  '>': ({ lhs, rhs }, out) => less({ lhs: rhs, rhs: lhs }, out),
  '<=': atMost,
  '>=': ({ lhs, rhs }, out) => atMost({ lhs: rhs, rhs: lhs }, out),
};

/** Writes whether `lhs op rhs` holds at each step to `out`. */
export function computeComparison(op: ComparisonOp, operands: Operands, out: Truths): void {
  COMPARISON_KERNELS[op](operands, out);
}
