/**
 * `npm run verify`: all checks of the code that do not run it. Each check is a command or a
 * function. All of them run, then one line each reports the failures.
 */
import { spawnSync } from 'node:child_process';
import { readCheckout } from './house/checkout.ts';
import { circleFindings, placeFindings } from './house/plan.ts';
import { RELEASED_MESSAGES } from './released-messages.ts';
import { styleFindings } from './style.ts';
import { supplyFindings } from './supply/findings.ts';
import { voiceFindings } from './voice/ratchet.ts';

interface Check {
  readonly name: string;
  readonly run: () => boolean;
}

const checks: readonly Check[] = [
  { name: 'types', run: () => command('tsc') },
  { name: 'types of the dashboard', run: () => command('tsc', '-p', 'src/dashboard') },
  {
    name: "types of the dashboard's tests",
    run: () => command('tsc', '-p', 'test/dashboard'),
  },
  { name: 'the dashboard is built', run: () => command('node', 'scripts/build-dashboard.mjs') },
  { name: 'lint and format', run: () => command('biome', 'check', '.') },
  { name: 'rooms, the direction of imports, circles', run: () => none(houseFindings()) },
  { name: 'style', run: () => none(styleFindings(process.cwd())) },
  { name: 'voice', run: () => none(voiceFindings(process.cwd())) },
  { name: 'dependencies', run: () => none(supplyFindings(process.cwd())) },
  { name: 'unused code and dependencies', run: () => command('knip') },
  {
    name: 'generated code is current',
    run: () => command('node', 'scripts/generate.ts', '--check'),
  },
  {
    name: 'messages of the last release still work',
    run: () => command('buf', 'breaking', '--against', RELEASED_MESSAGES),
  },
  { name: 'drawings are current', run: () => command('node', 'scripts/draw.ts', '--check') },
];

const failed = checks.filter((check) => {
  const ok = check.run();
  process.stdout.write(`${ok ? 'ok    ' : 'not ok'} ${check.name}\n`);
  return !ok;
});
process.exitCode = failed.length > 0 ? 1 : 0;

function command(program: string, ...args: string[]): boolean {
  return spawnSync(program, args, { stdio: ['ignore', 'inherit', 'inherit'] }).status === 0;
}

function houseFindings(): string[] {
  const checkout = readCheckout(process.cwd());
  return [...placeFindings(checkout), ...circleFindings(checkout)];
}

function none(findings: readonly string[]): boolean {
  for (const finding of findings) process.stdout.write(`${finding}\n`);
  return findings.length === 0;
}
