/**
 * A virsh for whole fleets: any number of domains that report the readings of one recorded machine,
 * at any number of libvirts. A test may change them while they are read.
 */
import { readFileSync } from 'node:fs';
import type { CommandOutcome, RunCommand } from '../../actors/telemetry/collectors/command.ts';

const recorded = readFileSync(
  new URL('../telemetry/collectors/recordings/libvirt/running.txt', import.meta.url),
  'utf8',
);
/** Statistics of the recorded machine web1, without its header. */
const [, FIELDS = ''] = /^Domain: 'web1'\n((?: {2}.*\n)+)/m.exec(recorded) ?? [];

export interface RecordedDomain {
  readonly uuid: string;
  readonly name: string;
  /** false: the domain is defined but off. Default true. */
  readonly isOn?: boolean;
  /** With `isOn` false: the domain is off because it now runs on another host. */
  readonly isMigrated?: true;
  /** The domain is listed without statistics, as if it were busy. */
  readonly isUnread?: true;
  /** Text of its metadata element, in any namespace; null: it cannot be read. */
  readonly project?: string | null;
  /** Mount points that its guest's agent reports; absent: it has no agent. */
  readonly mounts?: readonly string[];
}

/** The nth domain of a fleet. */
export function fleetDomain(n: number, name = `vm-${n}`): RecordedDomain {
  return { uuid: `5bd1e995-0000-4000-8000-${n.toString(16).padStart(12, '0')}`, name };
}

/** Output of virsh for all domains: listing, statistics, listing. */
export function statisticsOf(domains: readonly RecordedDomain[]): string {
  const list = domains
    .map(({ uuid, name, isOn = true }, i) => `${uuid} ${isOn ? i + 1 : '-'} ${name}\n`)
    .join('');
  const off = (isMigrated = false) => `  state.state=5\n  state.reason=${isMigrated ? 4 : 1}\n`;
  const read = domains.filter(({ isUnread }) => !isUnread);
  const blocks = read.map(
    ({ name, isMigrated, isOn = true }) =>
      `Domain: '${name}'\n${isOn ? FIELDS : off(isMigrated)}\n`,
  );
  return `${list}\n${blocks.join('')}\n${list}\n`;
}

/** Domains by URI. A missing URI does not answer. */
export type Libvirts = Record<string, readonly RecordedDomain[]>;

/**
 * Messages of libvirtd, which writes them in the language of its host, whatever language virsh is
 * set to. German: libvirt-l10n 9.0.
 */
const MESSAGES = {
  en: {
    absent: 'metadata not found: Requested metadata element is not present',
    cutOff: 'End of file while reading data',
    refused: 'failed to connect',
  },
  de: {
    absent: 'Metadaten nicht gefunden: Die angeforderte Metadaten-Element nicht vorhanden ist',
    cutOff: 'Dateiende beim Lesen der Daten',
    refused: 'Verbindung zum Hypervisor fehlgeschlagen',
  },
} as const;

/** Language of a host. */
export type Language = keyof typeof MESSAGES;

/** Reads `libvirts` at the time of each command. */
export function virshOf(libvirts: Libvirts, language: Language = 'en'): RunCommand {
  const messages = MESSAGES[language];
  return async ({ args }) => {
    const uri = args[args.indexOf('-c') + 1] ?? '';
    const domains = libvirts[uri];
    const base = { stdout: '', stderr: '', gone: Promise.resolve() };
    if (!domains) {
      return { ...base, kind: 'exited', code: 1, stderr: `error: ${messages.refused}` };
    }
    const commands = args.at(-1) ?? '';
    if (commands.includes('domstats')) {
      return { ...base, kind: 'exited', code: 0, stdout: statisticsOf(domains) };
    }
    const requested = /guestinfo (\S+)/.exec(commands)?.[1];
    if (requested !== undefined) {
      const { mounts = [] } = domains.find(({ uuid }) => uuid === requested) ?? {};
      return { ...base, kind: 'exited', code: 0, stdout: guestInfoOf(mounts) };
    }
    return { ...base, ...metadataOf(commands, domains, messages) } as CommandOutcome;
  };
}

/** Output of `virsh guestinfo --filesystem`. */
function guestInfoOf(mounts: readonly string[]): string {
  const lines = mounts.flatMap((mount, i) => [
    `fs.${i}.name           : vda${i + 1}`,
    `fs.${i}.mountpoint     : ${mount}`,
    `fs.${i}.fstype         : ext4`,
    `fs.${i}.total-bytes    : 1000000`,
    `fs.${i}.used-bytes     : 500000`,
  ]);
  return [`fs.count            : ${mounts.length}`, ...lines].join('\n');
}

function metadataOf(
  commands: string,
  domains: readonly RecordedDomain[],
  { absent, cutOff }: (typeof MESSAGES)[Language],
) {
  let [stdout, stderr, code] = ['', '', 0];
  for (const command of commands.split('; ')) {
    const [word, first, namespace = ''] = command.split(' ');
    const project = domains.find(({ uuid }) => uuid === first)?.project;
    const hasElement = project !== undefined && !namespace.startsWith('urn:svc:absent:');
    code = 0;
    // As quiet virsh does: without a line end.
    if (word === 'echo') stdout += command.slice(5);
    else if (project === null) {
      stderr += `error: ${cutOff}\n`;
      code = 1;
    } else if (word === 'desc') stdout += 'No description for domain\n';
    else if (hasElement) stdout += `<project>${project}</project>\n\n`;
    else {
      stderr += `error: ${absent}\n`;
      code = 1;
    }
  }
  return { kind: 'exited', code, stdout, stderr };
}
