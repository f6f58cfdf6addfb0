/**
 * A libvirt source with a scripted virsh: its output, and the time it takes. The texts were
 * recorded from real machines (libvirt 9.0, QEMU 7.2) in the conditions that their names describe.
 */
import { readFile } from 'node:fs/promises';
import type {
  ObservedRow,
  Reading,
  Source,
} from '../../../actors/telemetry/collectors/collector.ts';
import type {
  Command,
  CommandOutcome,
  RunCommand,
} from '../../../actors/telemetry/collectors/command.ts';
import {
  createLibvirtSource,
  type LibvirtSourceOptions,
} from '../../../actors/telemetry/collectors/libvirt/libvirt-source.ts';
import { VirtualClock } from '../../../streams/platform/clock.ts';

/** Read in advance: on a virtual clock, a read during an answer would take no time. */
const texts = new Map(
  await Promise.all(
    ['running', 'paused', 'paused-later', 'hang-nowait', 'stopped-crashed', 'odd', 'guestinfo'].map(
      async (name) => {
        const file = new URL(`recordings/libvirt/${name}.txt`, import.meta.url);
        return [name, await readFile(file, 'utf8')] as const;
      },
    ),
  ),
);
export const recording = (name: string): string => texts.get(name) ?? '';
export const never = new AbortController().signal;
export const WEB = 'a2e91e4a-be58-4981-b274-2c2f975194b0';
export const DB = '397f0cd5-70e3-43e3-88cb-ae5007c03448';
/** web1's last balloon update in `running`, Unix seconds. It was recorded a moment later. */
export const RUNNING_UPDATE = 1_795_253_305;
export const RECORDED_MS = RUNNING_UPDATE * 1_000 + 1_000;

export type Answer = Partial<CommandOutcome> & { readonly afterMs?: number };

/** A source whose virsh gives these answers, one per call, and records its commands. */
export function world(
  answer: (command: Command, call: number) => Answer | Promise<Answer>,
  options: Partial<LibvirtSourceOptions> = {},
): { source: Source; clock: VirtualClock; requested: Command[] } {
  const clock = new VirtualClock(RECORDED_MS);
  const requested: Command[] = [];
  const run: RunCommand = async (command) => {
    requested.push(command);
    const { afterMs = 0, ...given } = await answer(command, requested.length - 1);
    const late = afterMs >= command.deadlineMs;
    const passed = Math.min(afterMs, command.deadlineMs);
    if (passed > 0) {
      await new Promise<void>((resolve) => {
        clock.wakeAfter(passed, resolve);
        command.signal?.addEventListener('abort', () => resolve());
      });
    }
    const base = { stdout: '', stderr: '', gone: Promise.resolve() };
    if (late) return { ...base, kind: 'killed', because: 'deadline' };
    return { ...base, kind: 'exited', code: 0, ...given } as CommandOutcome;
  };
  const source = createLibvirtSource({
    uri: 'qemu:///system',
    clock,
    intervalMs: 30_000,
    run,
    ...options,
  });
  return { source, clock, requested };
}

/** One reading of a recording by a source without earlier readings. */
export async function readOnce(stdout: string): Promise<Reading> {
  return world(() => ({ stdout })).source.read(never);
}

export const rowOf = (reading: Reading, vm: string): ObservedRow | undefined =>
  reading.rows.find((row) => row.vm === vm);
export const names = (row: ObservedRow | undefined): string[] => [
  ...new Set((row?.values ?? []).map(([key]) => key.replace(/^svc_vm_/, '').replace(/{.*/, ''))),
];
export const valuesOf = (row: ObservedRow | undefined): Record<string, number> =>
  Object.fromEntries(row?.values ?? []);
export const settle = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));
