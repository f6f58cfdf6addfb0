/**
 * Every function of PromQL by name. Throws at start unless it has exactly the functions that the
 * checker knows.
 */
import { absenceFunctions } from './absence.ts';
import { calendarFunctions } from './calendar.ts';
import { conversionFunctions } from './conversions.ts';
import { elementwiseFunctions } from './elementwise.ts';
import type { PromqlFunction } from './function.ts';
import { histogramFunctions } from './histogram.ts';
import { labelFunctions } from './label-functions.ts';
import { overTimeFunctions } from './over-time.ts';
import { rateFunctions } from './rate.ts';
import { regressionFunctions } from './regression.ts';
import { functionSignatures } from './signatures.ts';

/**
 * Functions by name. The keys are those of `functionSignatures`, which is checked when the module
 * is loaded.
 */
export const functionTable: ReadonlyMap<string, PromqlFunction> = new Map(
  [
    absenceFunctions,
    calendarFunctions,
    conversionFunctions,
    elementwiseFunctions,
    histogramFunctions,
    labelFunctions,
    overTimeFunctions,
    rateFunctions,
    regressionFunctions,
  ].flatMap((family) => Object.entries(family)),
);

assertSameNames([...functionTable.keys()], [...functionSignatures.keys()]);

function assertSameNames(built: string[], known: string[]): void {
  const difference = new Set(built).symmetricDifference(new Set(known));
  if (difference.size === 0) return;
  throw new Error(`Not both implemented and declared: ${[...difference].join(', ')}`);
}
