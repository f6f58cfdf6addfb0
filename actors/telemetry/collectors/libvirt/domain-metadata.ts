/**
 * Metadata elements of the domains of one libvirt, as far as rules use them. A new domain is read
 * at once, known ones again in turns, so that a large fleet costs a bounded number of calls per
 * round. If an element cannot be read, its last known text stays.
 */
import type { Random } from '../../../../streams/platform/random.ts';
import type { SourceFault } from '../collector.ts';
import { type Libvirt, runVirsh, virshFault } from './virsh.ts';

/** Domains read again in one round. */
const AGAIN_MAX = 200;
/** Domains per virsh process: its command line is bounded, and so is the loss at a deadline. */
const AT_ONCE = 100;
const DEADLINE_MS = 10_000;
const TEXT_LENGTH_MAX = 200;
/** virsh's message for a domain without such an element, among other errors. */
const ABSENT = /metadata not found|Requested metadata element is not present/i;

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
    // Unguessable, so that a tenant's text cannot pass for the start of another domain.
    const mark = `svc-${Buffer.from(this.#random.bytes(12)).toString('hex')}`;
    const each = vms.map((vm) => `echo ${mark} ${vm}; metadata ${vm} ${of.namespace}`);
    const outcome = await runVirsh(this.#libvirt, {
      commands: [...each, `echo ${mark} end`].join('; '),
      readOnly: true,
      deadlineMs: DEADLINE_MS,
      signal: of.signal,
    });
    const complaints = outcome.stderr.split('\n').filter((line) => !/^\s*$|^error: $/.test(line));
    const isWhole = outcome.kind === 'exited' && complaints.every((line) => ABSENT.test(line));
    for (const [vm, text] of blocksOf(outcome.stdout, mark)) {
      if (text === '' && !isWhole) continue;
      // Moved to the end: it is read again after all others.
      of.known.delete(vm);
      of.known.set(vm, text === '' ? null : elementText(text));
    }
    if (isWhole && vms.every((vm) => of.known.has(vm))) return undefined;
    const fault = isWhole ? undefined : virshFault(this.#libvirt, outcome);
    const why = fault?.message ?? 'the output of virsh cannot be parsed';
    return { reason: 'INCOMPLETE', message: `metadata of some domains was not updated: ${why}` };
  }
}

const UUID_LENGTH = 36;

/**
 * Text printed after each domain's mark, if another mark follows. In quiet mode, virsh prints no
 * line end after an echo.
 */
function blocksOf(stdout: string, mark: string): [vm: string, text: string][] {
  const parts = stdout.split(`${mark} `).slice(1, -1);
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
  return plain.trim().slice(0, TEXT_LENGTH_MAX);
}
