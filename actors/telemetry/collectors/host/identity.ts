/**
 * Identity of this host among VMs: the id stays the same after a restart, a reinstall of this
 * service or a change of the network name. The machine-id is confidential (machine-id(5)), so the
 * id is its hash.
 */
import { createHash } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import type { Random } from '../../../../streams/platform/random.ts';

/** Path of the machine-id, and where an id is kept on hosts without one. */
export interface IdentityOptions {
  readonly dataFolder: string;
  readonly random: Random;
  /** Default /etc/machine-id. */
  readonly machineIdFile?: string;
}

/**
 * This host's VM id, in the form of a UUID. Without a machine-id (a container, an image whose first
 * boot has not set it), a random id is created once and kept in the data folder. Throws if it can
 * be neither read nor kept.
 */
export async function loadHostIdentity(options: IdentityOptions): Promise<string> {
  const text = await readText(options.machineIdFile ?? '/etc/machine-id');
  const id = parseMachineId(text ?? '');
  if (id !== undefined) return id;
  const file = `${options.dataFolder}/host-id`;
  const kept = (await readText(file))?.trim();
  if (kept !== undefined && UUID.test(kept)) return kept;
  const made = asUuid(Buffer.from(options.random.bytes(16)).toString('hex'));
  await mkdir(options.dataFolder, { recursive: true });
  await writeFile(file, `${made}\n`, { mode: 0o600, flush: true });
  return made;
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Hash of a machine-id; undefined for an empty file, `uninitialized` and anything else. */
export function parseMachineId(text: string): string | undefined {
  const id = text.trim();
  if (!/^[0-9a-f]{32}$/.test(id) || /^0+$/.test(id)) return undefined;
  return asUuid(createHash('sha256').update(`vm-monitoring host ${id}`).digest('hex'));
}

/** The first 128 bits, marked as a UUID of version 8 (RFC 9562: own layout). */
function asUuid(hex: string): string {
  const digits = `${hex.slice(0, 12)}8${hex.slice(13, 16)}a${hex.slice(17, 32)}`;
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

async function readText(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if (['ENOENT', 'EACCES', 'EISDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) {
      return undefined;
    }
    throw error;
  }
}
