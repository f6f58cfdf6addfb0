/**
 * `npm run attack -- [--long] [--requests N] [--minutes M] [--seed S] [--only CLASS] [--except
 * CLASS] [--busy-machine] [--json]`: starts the program as a user does and attacks it, class by
 * class. It ends with a table class | tries | held. The exit status is 1 when a try did not hold,
 * and 2 for a wrong argument.
 */
import { parseArgs } from 'node:util';
import { ATTACKS, runAttacks } from './run.ts';
import { hasHeld, reportOf } from './tally.ts';

const USAGE = `npm run attack -- [options]
  --minutes M     all classes, in at most about M minutes (default 5)
  --long          one million mutated requests, however long they take
  --requests N    so many mutated requests at the most
  --seed S        of everything that is drawn (default 1)
  --only CLASS    one class, or several with commas: ${Object.keys(ATTACKS).join(', ')}
  --except CLASS  all classes but one
  --busy-machine  delays are printed and not judged: other programs share the machine
  --json          the results as one JSON document`;

const LONG_REQUESTS = 1_000_000;

/** Throws if the arguments are invalid. */
function optionsOf(args: readonly string[]) {
  const { values } = parseArgs({
    args: [...args],
    options: {
      minutes: { type: 'string' },
      long: { type: 'boolean', default: false },
      requests: { type: 'string' },
      seed: { type: 'string', default: '1' },
      only: { type: 'string' },
      except: { type: 'string' },
      'busy-machine': { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
    },
  });
  const wanted = values.only?.split(',') ?? Object.keys(ATTACKS);
  const named = values.except === undefined ? wanted : [...wanted, values.except];
  const unknown = named.find((name) => !(name in ATTACKS));
  const only = wanted.filter((name) => name !== values.except);
  if (unknown !== undefined) throw new Error(`Unknown class: ${unknown}`);
  const requests = values.requests ?? (values.long ? String(LONG_REQUESTS) : 'Infinity');
  return {
    only: only as (keyof typeof ATTACKS)[],
    json: values.json,
    judgesDelays: !values['busy-machine'],
    seed: numberOf('seed', values.seed),
    requests: numberOf('requests', requests),
    minutes: numberOf(
      'minutes',
      values.minutes ?? (values.long || values.requests ? 'Infinity' : '5'),
    ),
  };
}

function numberOf(name: string, text: string): number {
  const number = Number(text);
  if (text.trim() !== '' && number >= 0) return number;
  throw new Error(`--${name} is ${JSON.stringify(text)}. It must be a number, 0 or more.`);
}

// A stop of the attack also stops the program: its child processes end at this process's exit.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.once(signal, () => process.exit(130));
}

let options: ReturnType<typeof optionsOf>;
try {
  options = optionsOf(process.argv.slice(2));
  const { json, only, seed } = options;
  const progress = (line: string) => void process.stderr.write(`${line}\n`);
  const results = await runAttacks({ ...options, progress });
  const replay = `npm run attack -- --seed ${seed} --only ${only.join(',')}`;
  process.stdout.write(json ? `${JSON.stringify(results, null, 2)}\n` : reportOf(results, replay));
  process.exitCode = hasHeld(results) ? 0 : 1;
} catch (error) {
  process.stderr.write(
    `${error instanceof Error ? (error.stack ?? error.message) : error}\n\n${USAGE}\n`,
  );
  process.exitCode = 2;
}
