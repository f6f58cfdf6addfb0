/**
 * Metadata elements of the domains of one libvirt, as far as rules use them. A new domain is read
 * at once, known ones again in turns, so that a large fleet costs a bounded number of calls per
 * round. If an element cannot be read, its last known text stays.
 *
 * virsh prints an element, or nothing and an error. The error is a sentence of libvirtd, in the
 * language of the host, so its words decide nothing. A domain has no such element if two things
 * hold:
 *
 *     every error is the one for an element that cannot exist     a failure in between differs
 *     `virsh desc` succeeds for the domain                        it reads metadata too, and virsh
 *                                                                 itself tells a missing
 *                                                                 description from a failure, by
 *                                                                 the error's code
 */
import type { Random } from '../../../../streams/platform/random.ts';
import type { SourceFault } from '../collector.ts';
import type { CommandOutcome } from '../command.ts';
import { type Libvirt, runVirsh, virshFault } from './virsh.ts';

/** Domains read again in one round. */
const AGAIN_MAX = 200;
/** Domains per virsh process: its command line is bounded, and so is the loss at a deadline. */
const AT_ONCE = 100;
const DEADLINE_MS = 10_000;
const TEXT_LENGTH_MAX = 200;
/** Domains that are checked one by one in a round, if a check of many failed. */
const SINGLY_MAX = 8;

export class DomainMetadata {
  readonly #libvirt: Libvirt;
  readonly #random: Random;
  /** Text or null by VM, by namespace; least recently read first. */
  readonly #texts = new Map<string, Map<string, string | null>>();

  constructor(libvirt: Libvirt, random: Random) {
    this.#libvirt = libvirt;
    this.#random = random;
  }

  /** null: the domain has no such element; undefined: unknown. */
  textOf(vm: string, namespace: string): string | null | undefined {
    return this.#texts.get(namespace)?.get(vm);
  }

  /**
   * Reads the unknown elements of `vms`, and some of the known ones. Returns faults; never rejects.
   */
  async refresh(
    vms: readonly string[],
    namespaces: readonly string[],
    signal: AbortSignal,
  ): Promise<readonly SourceFault[]> {
    for (const known of this.#texts.keys()) {
      if (!namespaces.includes(known)) this.#texts.delete(known);
    }
    const faults: SourceFault[] = [];
    for (const namespace of namespaces) {
      const known = this.#texts.get(namespace) ?? new Map<string, string | null>();
      this.#texts.set(namespace, known);
      const listed = new Set(vms);
      for (const vm of known.keys()) if (!listed.has(vm)) known.delete(vm);
      const again = [...known.keys()].slice(0, AGAIN_MAX);
      const requested = [...vms.filter((vm) => !known.has(vm)), ...again];
      for (let start = 0; start < requested.length; start += AT_ONCE) {
        const some = requested.slice(start, start + AT_ONCE);
        const fault = await this.#ask(some, { namespace, known, signal });
        if (fault === undefined) continue;
        faults.push(fault);
        break;
      }
    }
    return faults;
  }

  async #ask(
    vms: readonly string[],
    of: {
      readonly namespace: string;
      readonly known: Map<string, string | null>;
      readonly signal: AbortSignal;
    },
  ): Promise<SourceFault | undefined> {
    const { namespace, known, signal } = of;
    // Unguessable, so that a tenant's text cannot pass for the start of another domain.
    const mark = `svc-${Buffer.from(this.#random.bytes(12)).toString('hex')}`;
    const impossible = `urn:svc:absent:${mark}`;
    const probe = (vm: string | undefined): string =>
      `echo ${mark} -; metadata ${vm} ${impossible}`;
    const each = vms.map((vm) => `echo ${mark} ${vm}; metadata ${vm} ${namespace}`);
    const commands = [probe(vms[0]), ...each, probe(vms.at(-1)), `echo ${mark} end`].join('; ');
    const outcome = await this.#run(commands, signal);
    const blocks = blocksOf(outcome.stdout, mark);
    const silent = blocks.filter(([, text]) => text === '').map(([vm]) => vm);
    const isAlike = errorsAreAlike(outcome, {
      vms,
      count: silent.length + 2,
      impossible,
      namespace,
    });
    const absent = isAlike ? await this.#readable(silent, signal) : new Set<string>();
    for (const [vm, text] of blocks) {
      if (text === '' && !absent.has(vm)) continue;
      // Moved to the end: it is read again after all others.
      known.delete(vm);
      known.set(vm, text === '' ? null : elementText(text));
    }
    const isRead = silent.every((vm) => absent.has(vm));
    if (isRead && vms.every((vm) => known.has(vm))) return undefined;
    const fault = isRead ? undefined : virshFault(this.#libvirt, { ...outcome, ...FAILED });
    const why = fault?.message ?? 'the output of virsh cannot be parsed';
    return { reason: 'INCOMPLETE', message: `metadata of some domains was not updated: ${why}` };
  }

  #run(commands: string, signal: AbortSignal): Promise<CommandOutcome> {
    const call = { commands, readOnly: true, deadlineMs: DEADLINE_MS, signal };
    return runVirsh(this.#libvirt, call);
  }

  /** Those of `vms` whose metadata can be read now, whether or not they have any. */
  async #readable(vms: readonly string[], signal: AbortSignal): Promise<ReadonlySet<string>> {
    if (vms.length === 0) return new Set();
    const all = await this.#run(vms.map((vm) => `desc ${vm}`).join('; '), signal);
    if (isFlawless(all)) return new Set(vms);
    const found = new Set<string>();
    for (const vm of vms.length === 1 ? [] : vms.slice(0, SINGLY_MAX)) {
      if (isFlawless(await this.#run(`desc ${vm}`, signal))) found.add(vm);
    }
    return found;
  }
}

/** The exit code is that of the last command alone. */
const FAILED = { kind: 'exited', code: 1 } as const;

/** True if virsh reported no error. With several commands, its exit code is that of the last. */
function isFlawless(outcome: CommandOutcome): boolean {
  return outcome.kind === 'exited' && outcome.code === 0 && outcome.stderr.trim() === '';
}

/**
 * True if virsh printed `count` errors, all of them the one for the impossible element. An error
 * that names a domain is about the domain.
 */
function errorsAreAlike(
  outcome: CommandOutcome,
  of: {
    readonly vms: readonly string[];
    readonly count: number;
    readonly impossible: string;
    readonly namespace: string;
  },
): boolean {
  if (outcome.kind !== 'exited') return false;
  const errors = outcome.stderr
    .split('\n')
    .filter((line) => !/^\s*$|^error: $/.test(line))
    .map((line) => line.replaceAll(of.impossible, '').replaceAll(of.namespace, ''));
  const [first = ''] = errors;
  return (
    errors.length === of.count &&
    errors.every((error) => error === first) &&
    !of.vms.some((vm) => first.includes(vm))
  );
}

const UUID_LENGTH = 36;

/**
 * Text printed after each domain's mark, between those of the two probes. In quiet mode, virsh
 * prints no line end after an echo.
 */
function blocksOf(stdout: string, mark: string): [vm: string, text: string][] {
  const parts = stdout.split(`${mark} `).slice(2, -2);
  return parts.map((part) => [part.slice(0, UUID_LENGTH), part.slice(UUID_LENGTH).trim()]);
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&apos;': "'",
  '&amp;': '&',
};

/** Text of an element without children, trimmed; '' for anything else, which names no project. */
export function elementText(xml: string): string {
  const [, text = ''] = /^<([\w.:-]+)(?:\s[^<>]*)?>([^<>]*)<\/\1>$/.exec(xml)?.slice(1) ?? [];
  const plain = text.replace(/&(lt|gt|quot|apos|amp);/g, (entity) => ENTITIES[entity] ?? entity);
  return plain.trim().slice(0, TEXT_LENGTH_MAX).toWellFormed();
}
