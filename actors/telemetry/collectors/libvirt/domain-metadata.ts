/**
 * Metadata elements of the domains of one libvirt, as far as rules look at them. A new domain is asked
 * for at once, known ones again in turns, so that a large fleet costs a bounded number of calls each
 * round. What could not be read stays as it was.
 */
import type { Random } from '../../../../streams/platform/random.ts';
import type { SourceFault } from '../collector.ts';
import { type Libvirt, runVirsh, virshFault } from './virsh.ts';

/** Domains that are asked for again in one round. */
const AGAIN_MAX = 200;
/** Domains of one virsh: its command line is bounded, and so is what a deadline may lose. */
const AT_ONCE = 100;
const DEADLINE_MS = 10_000;
const TEXT_LENGTH_MAX = 200;
/** How virsh says that a domain has no such element, among other complaints. */
const ABSENT = /metadata not found|Requested metadata element is not present/i;

export class DomainMetadata {
  readonly #libvirt: Libvirt;
  readonly #random: Random;
  /** By namespace: by VM its text, or null; the longest unasked first. */
  readonly #texts = new Map<string, Map<string, string | null>>();

  constructor(libvirt: Libvirt, random: Random) {
    this.#libvirt = libvirt;
    this.#random = random;
  }

  /** null: the domain has no such element; undefined: not known. */
  textOf(vm: string, namespace: string): string | null | undefined {
    return this.#texts.get(namespace)?.get(vm);
  }

  /** Reads what is not known of `vms`, and some of what is. Returns faults; rejects never. */
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
      const asked = [...vms.filter((vm) => !known.has(vm)), ...again];
      for (let start = 0; start < asked.length; start += AT_ONCE) {
        const some = asked.slice(start, start + AT_ONCE);
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
    // Unguessable, so that no text of a tenant can pass for the beginning of another domain.
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
      // Moved to the end: it is asked again after all others.
      of.known.delete(vm);
      of.known.set(vm, text === '' ? null : elementText(text));
    }
    if (isWhole && vms.every((vm) => of.known.has(vm))) return undefined;
    const fault = isWhole ? undefined : virshFault(this.#libvirt, outcome);
    const why = fault?.message ?? 'the answer of virsh is not understood';
    return { reason: 'INCOMPLETE', message: `metadata of some domains is as it was: ${why}` };
  }
}

const UUID_LENGTH = 36;

/**
 * What was printed after each domain's mark, of those that another mark follows. virsh ends no line
 * after an echo when it is quiet.
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
