/**
 * `npm run house`: prints figures of the readability of the checkout, then the places to repair.
 * `npm run house -- FOLDER` measures another checkout.
 */
import { readCheckout } from './house/checkout.ts';
import { measure } from './house/measure.ts';

const { figures, findings } = measure(readCheckout(process.argv[2] ?? process.cwd()));
const width = Math.max(...figures.map(([name]) => name.length));
for (const [name, value] of figures) process.stdout.write(`${name.padEnd(width)}  ${value}\n`);
for (const finding of findings) process.stdout.write(`\n${finding}`);
if (findings.length > 0) process.stdout.write('\n');
