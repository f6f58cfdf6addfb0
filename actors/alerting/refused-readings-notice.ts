/**
 * The notice to a project that readings of its VMs arrive but are not stored. Without it, only the
 * operator, who reads logs and metrics, would know why a mount or a device is missing.
 */
import type { Clock } from '../../streams/platform/clock.ts';
import type { Ownership } from '../../streams/platform/membership/membership.ts';
import { pause } from '../../streams/platform/pause.ts';
import type { Draft, Host } from '../platform/host/host-port.ts';
import { oneLine } from '../platform/plain-text.ts';
import { isRetryable } from '../platform/retryable.ts';
import {
  isOfForm,
  type RefusedReading,
  type RefusedReadings,
} from '../telemetry/ingest/refused-readings.ts';
import { endNotice, raiseNotice } from './notices.ts';

export interface RefusedReadingsNoticeDeps {
  readonly host: Host;
  readonly clock: Clock;
  readonly ownership: Pick<Ownership, 'owns'>;
  readonly refused: Pick<RefusedReadings, 'of' | 'projects'>;
  /** Called when a change could not be committed. The next check retries. */
  readonly onLost?: (error: unknown) => void;
}

/** Interval of checks, ms. */
const CHECK_MS = 5_000;
/**
 * Minimum interval between two texts of one notice, ms, because causes start and end one by one.
 */
const TEXT_MS = 10 * 60_000;
/**
 * Interval at which a project is searched for a notice of an earlier run, which has then ended, ms.
 */
const EARLIER_MS = 15 * 60_000;
/** Maximum causes that the text names. */
const NAMED_MAX = 3;
const NAME_CHARS_MAX = 60;

/** Maintains the notices until `signal`. Rejects on a fault of this service. */
export async function noticeRefusedReadings(
  deps: RefusedReadingsNoticeDeps,
  signal: AbortSignal,
): Promise<void> {
  const notices = new Notices(deps);
  while (!signal.aborted) {
    await notices.check();
    await pause(deps.clock, CHECK_MS, signal);
  }
}

class Notices {
  readonly #deps: RefusedReadingsNoticeDeps;
  readonly #startedMs: number;
  /** Time when this member last wrote the text of a project's notice, elapsed ms. */
  readonly #written = new Map<string, number>();
  /** Time when a project was last searched for a notice of an earlier run, elapsed ms. */
  readonly #searched = new Map<string, number>();

  constructor(deps: RefusedReadingsNoticeDeps) {
    this.#deps = deps;
    this.#startedMs = deps.clock.elapsed();
  }

  async check(): Promise<void> {
    const { host, refused, onLost } = this.#deps;
    for (const project of new Set([...host.projects(), ...refused.projects()])) {
      try {
        await this.#checkProject(project);
      } catch (error) {
        if (!isRetryable(error)) throw error;
        onLost?.(error);
      }
    }
  }

  async #checkProject(project: string): Promise<void> {
    const { host, clock, refused } = this.#deps;
    const causes = refused.of(project).filter(isOfForm);
    const nowMs = clock.elapsed();
    if (causes.length > 0) {
      const writtenMs = this.#written.get(project);
      if (writtenMs !== undefined && nowMs - writtenMs < TEXT_MS) return;
      const text = textOf(causes, (vm) => displayNameOf(host, project, vm));
      await this.#submit(project, (draft) =>
        raiseNotice(draft, { kind: 'READINGS_REFUSED', subject: subjectOf(project), text }),
      );
      this.#written.set(project, nowMs);
      return;
    }
    if (!this.#mayEnd(project, nowMs)) return;
    await this.#submit(project, (draft) =>
      endNotice(draft, { kind: 'READINGS_REFUSED', subject: subjectOf(project) }),
    );
    this.#written.delete(project);
  }

  /**
   * The member that received the readings knows when they stop. The member that acts for the
   * project ends a notice of an earlier run.
   */
  #mayEnd(project: string, nowMs: number): boolean {
    if (this.#written.has(project)) return true;
    const { host, ownership } = this.#deps;
    const searchedMs = this.#searched.get(project) ?? this.#startedMs;
    if (!ownership.owns(project) || nowMs - searchedMs < EARLIER_MS) return false;
    this.#searched.set(project, nowMs);
    const body = host.view(project).record('notice', `readings-refused-${project}`)?.body;
    return body?.endedMs === null;
  }

  async #submit(project: string, decide: (draft: Draft) => void): Promise<void> {
    const by = { kind: 'service', name: 'refused readings' } as const;
    await this.#deps.host.submit({ project, by, decide });
  }
}

function subjectOf(project: string) {
  return { collection: 'projects', id: project } as const;
}

/** The text stays the same as long as the causes do. */
function textOf(causes: readonly RefusedReading[], nameOf: (vm: string) => string): string {
  const vms = new Set(causes.map(({ vm }) => vm)).size;
  const named = causes
    .slice(0, NAMED_MAX)
    .map(({ vm, message }) => `${vm === '' ? 'A row without a VM' : nameOf(vm)}: ${message}`);
  const more = causes.length - named.length;
  const sentences = [
    `Readings of ${vms === 1 ? '1 VM arrive but are' : `${vms} VMs arrive but are`} not stored.`,
    ...named,
    ...(more > 0 ? [`${more} more.`] : []),
    'All other readings are stored.',
  ];
  return sentences.join(' ');
}

function displayNameOf(host: Pick<Host, 'view'>, project: string, vm: string): string {
  const name = host.view(project).record('vm', vm)?.body.displayName ?? vm;
  return oneLine(name, NAME_CHARS_MAX);
}
