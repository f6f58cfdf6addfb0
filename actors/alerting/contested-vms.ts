/**
 * Notices of VMs that two collectors report as running, such as a clone that kept its UUID. One of
 * them is displayed, the rows of the other are rejected, and only a person can decide which one is
 * meant.
 */
import type { Clock } from '../../streams/platform/clock.ts';
import { itemsOf } from '../../streams/platform/commit/page.ts';
import type { Ownership } from '../../streams/platform/membership/membership.ts';
import { pause } from '../../streams/platform/pause.ts';
import type { Draft, Host } from '../platform/host/host-port.ts';
import { isRetryable } from '../platform/retryable.ts';
import type { ContestedVm, VmSources } from '../vms/vm-sources.ts';
import { endNotice, raiseNotice } from './notices.ts';

export interface ContestedVmsDeps {
  readonly host: Pick<Host, 'submit' | 'view'> & { projects(): Iterable<string> };
  readonly clock: Clock;
  readonly ownership: Pick<Ownership, 'owns'>;
  readonly sources: Pick<VmSources, 'contested'>;
  /** Called when a notice could not be committed. The next check tries again. */
  readonly onLost?: (error: unknown) => void;
}

/** Interval of the check, ms. */
const CHECK_MS = 15_000;
/**
 * Maximum open notices of a project. With that many clones, the others are obvious without a notice
 * each.
 */
const LASTING_MAX = 20;
/** Time after a start within which both collectors report again, ms. */
const HEARD_AGAIN_MS = 300_000;
const PAGE = 500;

/** Raises and ends notices until `signal`. */
export async function announceContested(
  deps: ContestedVmsDeps,
  signal: AbortSignal,
): Promise<void> {
  const { host, clock, sources } = deps;
  const startedMs = clock.elapsed();
  const lasting = new Map(
    [...host.projects()].map((project) => [project, lastingIn(host, project)]),
  );
  while (!signal.aborted) {
    await pause(clock, CHECK_MS, signal);
    const contested = Map.groupBy(sources.contested(), ({ project }) => project);
    for (const project of new Set([...contested.keys(), ...lasting.keys()])) {
      const known = lasting.get(project) ?? new Map<string, boolean>();
      lasting.set(project, known);
      const isHeard = clock.elapsed() - startedMs > HEARD_AGAIN_MS;
      await announce(deps, { project, known, isHeard }, contested.get(project) ?? []);
      if (known.size === 0) lasting.delete(project);
    }
  }
}

/** VMs with a notice, and whether this member has raised it since its start. */
type Lasting = Map<string, boolean>;

function lastingIn(host: Pick<Host, 'view'>, project: string): Lasting {
  const vms: Lasting = new Map();
  for (const { body } of itemsOf(PAGE, (page) => host.view(project).records('notice', page))) {
    if (body.kind === 'VM_CONTESTED' && body.endedMs === null) vms.set(body.subject.id, false);
  }
  return vms;
}

async function announce(
  { host, ownership, onLost }: ContestedVmsDeps,
  {
    project,
    known,
    isHeard,
  }: { readonly project: string; readonly known: Lasting; readonly isHeard: boolean },
  contested: readonly ContestedVm[],
): Promise<void> {
  const now = new Set(contested.map(({ vm }) => vm));
  for (const vm of known.keys()) if (now.has(vm)) known.set(vm, true);
  const begun = contested.filter(({ vm }) => !known.has(vm)).slice(0, LASTING_MAX - known.size);
  // Another member may have raised a notice that existed at the start; its project's owner ends it.
  const ended = [...known].filter(
    ([vm, isOwn]) => !now.has(vm) && (isOwn || (isHeard && ownership.owns(project))),
  );
  if (begun.length + ended.length === 0) return;
  try {
    await host.submit({
      project,
      by: { kind: 'service', name: 'vm sources' },
      decide(draft) {
        for (const one of begun)
          raiseNotice(draft, { ...noticeOf(one.vm), text: textOf(draft, one) });
        for (const [vm] of ended) endNotice(draft, noticeOf(vm));
      },
    });
    for (const { vm } of begun) known.set(vm, true);
    for (const [vm] of ended) known.delete(vm);
  } catch (error) {
    if (!isRetryable(error)) throw error;
    onLost?.(error);
  }
}

function noticeOf(id: string) {
  return { kind: 'VM_CONTESTED', subject: { collection: 'vms', id } } as const;
}

function textOf(draft: Draft, { vm, source, other }: ContestedVm): string {
  const name = draft.record('vm', vm)?.body.displayName ?? vm;
  return (
    `The VM ${name} runs in two places: ${source} reports it, and rows of ${other} are rejected. ` +
    'If one is a clone, give it a UUID of its own; otherwise stop one of the two.'
  );
}
