/** All oracles over one run, causes before their consequences. */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { verifyLog } from '../../../actors/audit/log-verifier.ts';
import { CommitReader } from '../../../sqlite/platform/control/commit-reader.ts';
import type { InstanceStep } from '../../../streams/platform/commit/commit.ts';
import type { Member } from '../member.ts';
import { NEWER } from '../programs.ts';
import type { Run } from '../run.ts';
import { acceptedTwice } from './accepted-twice.ts';
import { decidedByWrongClocks } from './clocks.ts';
import { type Facts, factsOf } from './facts.ts';
import { wrongIncidents } from './incidents.ts';
import { lostOrMadeUp } from './kept.ts';
import { wrongNotifications } from './notifications.ts';
import { Observations } from './observations.ts';
import type { Problem } from './problem.ts';
import { changedByRestarts } from './replayed.ts';
import { falseSilence, unnoticedSilence } from './silence.ts';
import { wrongSources } from './sources.ts';
import { movedByOlder } from './upgrades.ts';

/** One in this many seeds has each of its steps decided again, which takes as long as the run. */
const VERIFIED_EVERY = 8;

export async function judge(run: Run): Promise<Problem[]> {
  const facts = factsOf(run.server);
  const observations = new Observations(facts);
  const problems = [
    ...facts.broken.map((text): Problem => ({ invariant: 'the chain holds', text, atMs: 0 })),
    ...lostOrMadeUp(run, facts),
    ...overLimits(facts),
    ...wrongIncidents(facts, observations),
    ...wrongNotifications(run, facts),
    ...acceptedTwice(run, facts),
    ...falseSilence(run, facts),
    ...decidedByWrongClocks(run, facts),
    ...movedByOlder(facts),
    ...unnoticedSilence(run, facts, observations),
    ...changedByRestarts(run, facts),
    ...wrongSources(run, facts),
    ...unrest(run, facts, observations),
  ];
  if (run.world.seed % VERIFIED_EVERY === 0) {
    for (const member of run.cluster.members) problems.push(...(await brokenChains(run, member)));
  }
  return problems;
}

const DEFAULTS = { rules: 20, destinations: 5 };

/** No project exceeds its limits, even by concurrent requests. */
function* overLimits({ steps, limits }: Facts): Generator<Problem> {
  const live = new Map<string, Set<string>>();
  for (const { project, sequence, step, elapsedMs: atMs } of steps) {
    const { machine, instance } = step;
    if (machine !== 'alertRule' && machine !== 'destination') continue;
    const key = `${project} ${machine}`;
    const those = live.get(key) ?? new Set();
    live.set(key, those);
    if (step.final) those.delete(instance);
    else those.add(instance);
    // Limits in the same commit may have been set before or after the step.
    const set = limits.filter((each) => each.project === project && each.sequence <= sequence);
    const before = set.findLast((each) => each.sequence < sequence) ?? DEFAULTS;
    const last = set.at(-1) ?? DEFAULTS;
    const name = machine === 'alertRule' ? 'rules' : 'destinations';
    const limit = Math.max(before[name], last[name]);
    if (step.from !== null || those.size <= limit) continue;
    const text = `${project} has ${those.size} ${name}; the limit is ${limit}`;
    yield { invariant: 'limits hold', text, atMs };
  }
}

/** Once all faults have ended, no rule is pending, and exactly the rules in force are evaluated. */
function* unrest({ world }: Run, { steps }: Facts, { forces }: Observations): Generator<Problem> {
  const last = new Map<string, InstanceStep>();
  for (const { step } of steps) if (step.machine === 'alertRule') last.set(step.instance, step);
  for (const [rule, { to, context }] of last) {
    const evaluated = forces
      .filter((each) => each.rule.rule === rule && each.until === Number.POSITIVE_INFINITY)
      .map((each) => each.rule.evaluationRevision);
    const should = to === 'active' ? [context.evaluationRevision] : [];
    if (to !== 'pendingApplication' && evaluated.join() === should.join()) continue;
    const text = `rule ${rule} is ${String(to)}, revision ${context.evaluationRevision}; evaluated: ${
      evaluated.join() || 'none'
    }`;
    yield { invariant: 'it comes to rest', text, atMs: world.elapsedMs };
  }
}

async function brokenChains({ server, world }: Run, { name, machine }: Member): Promise<Problem[]> {
  // The verifier reads a file through a connection of its own, so it gets a copy.
  const folder = mkdtempSync(
    join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'svc-simulation-'),
  );
  const path = join(folder, 'control.db');
  writeFileSync(path, machine.database.serialize());
  const reader = new CommitReader(path);
  try {
    const { projects } = await verifyLog({
      reader,
      bodies: { at: async (sequence) => server.messages('EVENTS')[sequence - 1]?.data },
      machines: NEWER.machines,
      clock: { now: () => world.nowMs },
    });
    const atMs = world.elapsedMs;
    return projects.flatMap(({ project, broken }): Problem[] => {
      if (broken === null) return [];
      return [
        { invariant: 'the chain holds', text: `${name}, ${project}: ${broken.detail}`, atMs },
      ];
    });
  } finally {
    reader.close();
    rmSync(folder, { recursive: true });
  }
}
