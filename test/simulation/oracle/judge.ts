/** All oracles over one run, in an order that names the cause before what follows from it. */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { verifyLog } from '../../../actors/audit/log-verifier.ts';
import { machineDefinitions } from '../../../machines/registry.ts';
import { CommitReader } from '../../../sqlite/commit-reader.ts';
import type { Run } from '../run.ts';
import { type Facts, factsOf } from './facts.ts';
import { wrongIncidents } from './incidents.ts';
import { lostOrMadeUp } from './kept.ts';
import { wrongNotifications } from './notifications.ts';
import { Observations } from './observations.ts';
import type { Problem } from './problem.ts';
import { changedByRestarts } from './replayed.ts';

/** Every what-th seed has each of its steps decided again, which takes as long as the run. */
const VERIFIED_EVERY = 8;

export async function judge(run: Run): Promise<Problem[]> {
  const facts = factsOf(run.server);
  const problems = [
    ...facts.broken.map((text): Problem => ({ invariant: 'the chain holds', text, atMs: 0 })),
    ...lostOrMadeUp(run, facts),
    ...overLimits(facts),
    ...wrongIncidents(facts, new Observations(facts)),
    ...wrongNotifications(run, facts),
    ...changedByRestarts(run, facts),
    ...unrest(run, facts),
  ];
  if (run.world.seed % VERIFIED_EVERY === 0) problems.push(...(await brokenChains(run)));
  return problems;
}

const LIMITS = { alertRule: 20, destination: 5 } as const;

/** No project ever has more than it may, whoever asked at the same time. */
function* overLimits({ steps }: Facts): Generator<Problem> {
  const live = new Map<string, Set<string>>();
  for (const { project, step, elapsedMs: atMs } of steps) {
    const { machine, instance } = step;
    if (machine !== 'alertRule' && machine !== 'destination') continue;
    const key = `${project} ${machine}`;
    const those = live.get(key) ?? new Set();
    live.set(key, those);
    if (step.final) those.delete(instance);
    else those.add(instance);
    if (step.from !== null || those.size <= LIMITS[machine]) continue;
    const text = `${project} has ${those.size} of ${machine}; ${LIMITS[machine]} are the limit`;
    yield { invariant: 'limits hold', text, atMs };
  }
}

/** With nothing wrong any more, no rule waits and no entry lies unread. */
function* unrest({ world }: Run, { steps }: Facts): Generator<Problem> {
  const last = new Map<string, unknown>();
  for (const { step } of steps) {
    if (step.machine === 'alertRule') last.set(step.instance, step.to);
  }
  for (const [rule, value] of last) {
    if (value !== 'pendingApplication') continue;
    const text = `rule ${rule} still waits to be applied`;
    yield { invariant: 'it comes to rest', text, atMs: world.elapsedMs };
  }
}

async function brokenChains({ cluster, server, world }: Run): Promise<Problem[]> {
  // The verifier reads a file, on a connection of its own: it is given a copy.
  const folder = mkdtempSync(
    join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'svc-simulation-'),
  );
  const path = join(folder, 'control.db');
  writeFileSync(path, cluster.machine.database.serialize());
  const reader = new CommitReader(path);
  try {
    const { projects } = await verifyLog({
      reader,
      bodies: { at: async (sequence) => server.messages('EVENTS')[sequence - 1]?.data },
      machines: machineDefinitions,
      clock: { now: () => world.nowMs },
    });
    const atMs = world.elapsedMs;
    return projects.flatMap(({ project, broken }): Problem[] => {
      if (broken === null) return [];
      return [{ invariant: 'the chain holds', text: `${project}: ${broken.detail}`, atMs }];
    });
  } finally {
    reader.close();
    rmSync(folder, { recursive: true });
  }
}
