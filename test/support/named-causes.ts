/**
 * Causes of identity events: every step of an identity names a person, an operator or a credential.
 */
import type { Test } from 'tap';
import { runToEnd } from './program.ts';

/** A step as audit reports it. */
export interface Reported {
  readonly machine: string;
  readonly event: string;
  readonly by: string;
}

/**
 * Events of people, sessions, sign-in links and collectors of all projects, as the operator reads
 * them.
 */
export async function eventsOfNoProject(t: Test, folder: string): Promise<readonly Reported[]> {
  const limit = ['--limit', '1000'];
  const { code, stdout } = await runToEnd([
    'admin',
    'transitions',
    '--json',
    ...limit,
    '--data',
    folder,
  ]);
  t.equal(code, 0);
  return JSON.parse(stdout).transitions;
}

/**
 * Each cause is a resource name, an operator, or a part of the service that acts for an unknown
 * caller.
 */
export function causesAreNamed(t: Test, events: readonly Reported[]): void {
  const named = /^(people|operator|projects)\/./;
  const unnamed = events
    .filter(({ by, machine }) => !named.test(by) && !MONITORING.has(machine))
    .map(({ by, machine, event }) => `${by}: ${machine} ${event}`);
  t.same([...new Set(unnamed)].sort(), CAUSED_BY_NOBODY);
}

const MONITORING = new Set(['alertRule', 'alertInstance', 'delivery', 'destination', 'vmSource']);
/**
 * The author of a guessed code or a strange token is unknown, and so is whoever starts the service.
 */
const CAUSED_BY_NOBODY: readonly string[] = [
  'keyless CI: ciConnection exchangeRefused',
  'keyless CI: ciVerification wrongCodesSent',
  ...['credential', 'membership', 'person', 'serviceAccount', 'signInLink'].map(
    (machine) => `service/demo: ${machine} xstate.init`,
  ),
];
