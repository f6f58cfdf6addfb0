/**
 * Runs virsh and describes its failures in a sentence. virsh is used instead of a binding: it is on
 * every libvirt host, speaks to old and remote daemons, and a hung call ends with its process.
 */
import type { Clock } from '../../../../streams/platform/clock.ts';
import { redactedUrl, withoutLogins } from '../../../../streams/platform/redacted-url.ts';
import type { SourceFault } from '../collector.ts';
import type { CommandOutcome, RunCommand } from '../command.ts';

/** One libvirt, and how to run virsh for it. */
export interface Libvirt {
  /** E.g. `qemu:///system` or `qemu+ssh://host/system`. */
  readonly uri: string;
  readonly clock: Clock;
  readonly run: RunCommand;
}

/** Runs virsh with a command string. Read-only connections may not talk to guest agents. */
export function runVirsh(
  libvirt: Libvirt,
  call: {
    readonly commands: string;
    readonly readOnly: boolean;
    readonly deadlineMs: number;
    readonly signal?: AbortSignal;
  },
): Promise<CommandOutcome> {
  const { commands, readOnly, ...limits } = call;
  const args = [...(readOnly ? ['-r'] : []), '-q', '-c', libvirt.uri, commands];
  return libvirt.run({ file: 'virsh', args, ...limits }, libvirt.clock);
}

/** The fault of a failed virsh; undefined if it exited successfully. */
export function virshFault(libvirt: Libvirt, outcome: CommandOutcome): SourceFault | undefined {
  switch (outcome.kind) {
    case 'missing':
      return {
        reason: 'SOURCE_MISSING',
        message: 'no program "virsh" on this machine: install libvirt-clients to watch VMs',
      };
    case 'failed':
      return { reason: 'SOURCE_FAILED', message: `virsh did not finish: ${outcome.error}` };
    case 'killed':
      return { reason: 'TIMED_OUT', message: `virsh was ended (${outcome.because})` };
    case 'exited':
      return complaintOf(libvirt, outcome);
  }
}

/** Maximum length of libvirt's message in a log line or `/readyz`, characters. */
const MESSAGE_LENGTH_MAX = 300;

/**
 * The fault of a virsh that exited; undefined: it succeeded. The exit code decides. The message is
 * a sentence of libvirtd in the language of the host, or one of ssh, and is only quoted.
 */
export function complaintOf(
  libvirt: Libvirt,
  outcome: CommandOutcome & { kind: 'exited' },
): SourceFault | undefined {
  if (outcome.code === 0) return undefined;
  const text = messageOf(outcome) || `exit code ${outcome.code}`;
  const message = `libvirt at ${redactedUrl(libvirt.uri)}: ${text}; see docs/sources.md`;
  return { reason: 'SOURCE_FAILED', message };
}

/** The messages that virsh printed, for people; '' without any. */
export function messageOf({ stderr }: Pick<CommandOutcome, 'stderr'>): string {
  const said = stderr
    .replaceAll(/^error: /gm, '')
    .trim()
    .split(/\s*\n\s*/)
    .join(': ');
  return withoutLogins(said).slice(0, MESSAGE_LENGTH_MAX).toWellFormed();
}

/**
 * The reason why libvirt cannot be watched from here; undefined = it can. Called once at start on a
 * machine that is not configured as a libvirt host, where "no" is not a fault.
 */
export async function probeLibvirt(libvirt: Libvirt): Promise<SourceFault | undefined> {
  const call = { commands: 'list --all --name', readOnly: true, deadlineMs: PROBE_MS };
  return virshFault(libvirt, await runVirsh(libvirt, call));
}

const PROBE_MS = 3_000;
