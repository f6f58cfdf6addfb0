/**
 * Enrolment file of the agent: the endpoint, the VM and the key, readable only by the agent's user.
 * A copy on another machine is rejected, because a cloned disk would otherwise send its readings as
 * those of the original.
 */
import { chownSync, existsSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { parseMachineId } from '../../../actors/telemetry/collectors/host/identity.ts';
import { makeFolder } from '../../../sqlite/platform/make-folder.ts';
import { writeFileDurably } from '../../platform/durable-file.ts';

/** Result of `svc agent enrol`, as stored. */
export interface StoredEnrolment {
  /** Origin of the API. */
  readonly endpoint: string;
  /** `projects/p`. */
  readonly projectName: string;
  /** `projects/p/vms/v`. */
  readonly vmName: string;
  /** The secret. */
  readonly key: string;
  readonly expiresUnix: number;
  /** Hash of this machine's machine-id; '' if it has none. */
  readonly machine: string;
}

/** The agent cannot run with the stored enrolment. The message says why, and what to do. */
export class EnrolmentUnusable extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'EnrolmentUnusable';
  }
}

const NAME = 'enrolment.json';
const FIELDS = ['endpoint', 'projectName', 'vmName', 'key', 'machine'] as const;

export function enrolmentPath(folder: string): string {
  return join(folder, NAME);
}

/**
 * Throws `EnrolmentUnusable` if it is missing, readable by others, damaged, or a copy.
 *
 * @param command that enrols: an agent, or a collector, whose enrolment names no project and no VM
 */
export function readEnrolment(
  folder: string,
  machine: string = thisMachine(),
  command: 'agent' | 'collect' = 'agent',
): StoredEnrolment {
  const path = enrolmentPath(folder);
  if (!existsSync(path)) {
    throw new EnrolmentUnusable(
      `This machine is not enrolled (no ${path}). Run "svc ${command} enrol"`,
    );
  }
  const mode = statSync(path).mode & 0o777;
  if ((mode & 0o077) !== 0) {
    throw new EnrolmentUnusable(`Others can read the key in ${path}. Run "chmod 600 ${path}"`);
  }
  const stored = parse(readFileSync(path, 'utf8'));
  if (!stored) throw new EnrolmentUnusable(`${path} is damaged. Run "svc ${command} enrol" again`);
  if (stored.machine !== '' && machine !== '' && stored.machine !== machine) {
    throw new EnrolmentUnusable(
      `${path} was made on another machine, and this disk is a copy of that one. The agent would ` +
        `send as ${stored.vmName || 'that one'}. Run "svc ${command} unenrol" here, and enrol this machine on its own`,
    );
  }
  return stored;
}

function parse(text: string): StoredEnrolment | undefined {
  try {
    const parsed = JSON.parse(text) as Record<string, unknown>;
    const isWhole = FIELDS.every((field) => typeof parsed[field] === 'string');
    return isWhole && typeof parsed.expiresUnix === 'number'
      ? (parsed as unknown as StoredEnrolment)
      : undefined;
  } catch {
    return undefined;
  }
}

/** To be called before a token is used up. Throws the errors of the file system. */
export function prepareFolder(folder: string): void {
  makeFolder(folder, 0o700);
  const probe = join(folder, '.writable');
  writeFileDurably({ path: probe, content: '', exclusive: false });
  rmSync(probe);
}

/**
 * On disk when it returns. If root writes the file, it is given to the owner of the folder, the
 * user of the agent's service.
 */
export function writeEnrolment(folder: string, enrolment: StoredEnrolment): void {
  const path = enrolmentPath(folder);
  writeFileDurably({ path, content: `${JSON.stringify(enrolment, null, 2)}\n`, exclusive: false });
  const owner = statSync(folder);
  if (process.getuid?.() === 0 && owner.uid !== 0) chownSync(path, owner.uid, owner.gid);
}

/** Hash of the machine-id; '' if there is none, as in an image that was never started. */
export function thisMachine(): string {
  const path = '/etc/machine-id';
  return existsSync(path) ? (parseMachineId(readFileSync(path, 'utf8')) ?? '') : '';
}
