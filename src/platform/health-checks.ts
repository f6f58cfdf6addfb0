/**
 * Health checks, one for each kind of part: they map a part's own state to `/readyz`. Each fault
 * has a reason for the operator and a summary for callers that reveals nothing of this host.
 */
import { statfsSync } from 'node:fs';
import type { ApplierHealth } from '../../actors/platform/host/applier.ts';
import type { Supervision } from '../../actors/platform/supervision.ts';
import type { Stream } from '../../streams/platform/stream.ts';
import { type HealthCheck, type PartHealth, ready } from './health.ts';

/** Without the stream nothing can be acknowledged. */
export function streamCheck(stream: Pick<Stream, 'health'>): HealthCheck {
  return () => {
    const health = stream.health();
    if (health.state === 'available') return ready;
    return {
      state: 'notReady',
      reason: `The stream is unavailable: ${health.reason}`,
      summary: 'The stream is unavailable; nothing can be acknowledged',
    };
  };
}

/** The projection: behind, it must not decide; stopped, only a restart of the program helps. */
export function hostCheck(host: { health(): ApplierHealth }): HealthCheck {
  return () => {
    const health = host.health();
    switch (health.state) {
      case 'ready':
        return ready;
      case 'starting':
        return faulty('notReady', 'Commits are being read: this ends by itself');
      case 'retrying':
        return {
          state: 'notReady',
          reason: `Commits cannot be read or applied (control.db), tried again soon: ${health.reason}`,
          summary: 'Commits cannot be read or applied, tried again soon',
        };
      case 'stopped':
        return {
          state: 'notReady',
          reason: `Applying commits has stopped: ${health.reason}`,
          summary: 'Applying commits has stopped: the service needs a restart',
        };
    }
  };
}

/**
 * One supervised part. `essential: false`: without it the service is degraded but ready, as with a
 * collector that finds no hypervisor.
 */
export function partCheck(
  supervision: Pick<Supervision, 'health'>,
  part: { readonly name: string; readonly essential: boolean },
): HealthCheck {
  const fault = part.essential ? 'notReady' : 'degraded';
  return () => {
    const health = supervision.health().find(({ name }) => name === part.name);
    if (!health) return faulty(fault, `${part.name} has not started yet`);
    if (health.state === 'running') return ready;
    const cause = health.lastError ? `: ${health.lastError}` : '';
    return {
      state: fault,
      reason: `${part.name} is ${health.state} (restarts: ${health.restarts})${cause}`,
      summary: `${part.name} is ${health.state}`,
    };
  };
}

/** Rows that history could not store in memory or on disk; stored rows stay readable. */
export function historyCheck(history: {
  stats(): { readonly incompleteProjects: number; readonly fault?: string };
}): HealthCheck {
  return () => {
    const { fault, incompleteProjects: count } = history.stats();
    if (fault !== undefined) {
      const summary = 'History cannot be written; stored samples stay readable';
      return { state: 'degraded', reason: fault, summary };
    }
    if (count === 0) return ready;
    const projects = count === 1 ? 'one project' : `${count} projects`;
    return {
      state: 'degraded',
      reason: `History had no room in memory for rows of ${projects}: reads of them fail until they are taken in from the log`,
      summary: 'History had no room in memory for some rows',
    };
  };
}

const MIB = 2 ** 20;
/** Below it SQLite may fail in the middle of a checkpoint: stop taking work before that. */
const FREE_MIB_MIN = 32;
/** Below it an operator has hours left, not days. */
const FREE_MIB_LOW = 512;

/** Is there room in the data folder? */
export function diskSpace(folder: string, statfs = statfsSync): HealthCheck {
  return () => {
    const { bavail, bsize } = statfs(folder);
    const freeMib = Math.floor((bavail * bsize) / MIB);
    const sentence = `${folder} has ${freeMib} MiB free`;
    if (freeMib < FREE_MIB_MIN) {
      const reason = `${sentence}, less than ${FREE_MIB_MIN}: free some space`;
      return { state: 'notReady', reason, summary: 'The data disk is full' };
    }
    if (freeMib < FREE_MIB_LOW) {
      const reason = `${sentence}, less than ${FREE_MIB_LOW}: it will be full before long`;
      return { state: 'degraded', reason, summary: 'The data disk is nearly full' };
    }
    return ready;
  };
}

/** A fault whose sentence names nothing of this host: operators and callers read the same. */
export function faulty(state: 'degraded' | 'notReady', sentence: string): PartHealth {
  return { state, reason: sentence, summary: sentence };
}
