/**
 * One read of a fleet, for the author of its mapping: every domain, and the project it belongs to.
 */
import type { Clock } from '../../../../streams/platform/clock.ts';
import type { Random } from '../../../../streams/platform/random.ts';
import type { RunCommand } from '../command.ts';
import { DomainMetadata } from '../libvirt/domain-metadata.ts';
import { createLibvirtSource } from '../libvirt/libvirt-source.ts';
import { type Mapping, placeOf, sourceName } from './mapping.ts';

export interface MappedRow {
  readonly vm: string;
  readonly name: string;
  readonly source: string;
  /** Absent: no rule matches, or it needs metadata that could not be read. */
  readonly project?: string;
  /** Line of the matching rule. */
  readonly line?: number;
}

/** Reads each libvirt once, one after another. */
export async function readFleet(of: {
  readonly mapping: Mapping;
  readonly clock: Clock;
  readonly random: Random;
  readonly run: RunCommand;
}): Promise<{ readonly rows: readonly MappedRow[]; readonly faults: readonly string[] }> {
  const { mapping, clock, random, run } = of;
  const rows: MappedRow[] = [];
  const faults: string[] = [];
  const { signal } = new AbortController();
  for (const uri of mapping.sources) {
    const source = sourceName(uri);
    const libvirt = createLibvirtSource({ uri, clock, run, intervalMs: 30_000 });
    const reading = await libvirt.read(signal);
    const metadata = new DomainMetadata({ uri, clock, run }, random);
    const vms = reading.rows.map(({ vm }) => vm);
    const unread = await metadata.refresh(vms, mapping.namespaces, signal);
    for (const { message } of [...reading.faults, ...unread]) faults.push(`${source}: ${message}`);
    for (const { vm, displayName: name } of reading.rows) {
      const about = { uuid: vm, name, metadata: (uri: string) => metadata.textOf(vm, uri) };
      const place = placeOf(mapping, about);
      const found = place.kind === 'project' ? { project: place.project, line: place.line } : {};
      rows.push({ vm, name, source, ...found });
    }
    await libvirt.close();
  }
  return { rows, faults };
}
