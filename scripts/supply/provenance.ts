/**
 * Provenance of a build, for the bill of materials: the commit, the builder and the command (as SLSA
 * asks for, in the words of CycloneDX 1.5). Without a builder's name, the same commit gives the same
 * bytes.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import packageJson from '../../package.json' with { type: 'json' };
import type { BillOfMaterials } from './bill-of-materials.ts';

export interface Provenance {
  /** Id of the commit that was built. */
  readonly commit: string;
  /** Time of the commit, ISO 8601. */
  readonly committed: string;
  /** true: files differed from the commit. */
  readonly isModified: boolean;
  /** Address of the repository; empty if the clone has none. */
  readonly repository: string;
  /** Name or address of what built it, such as the run of a CI job; the tools if none is given. */
  readonly builder: string;
  readonly command: string;
}

/** @param root folder of the checkout */
export function provenanceOf(
  root: string,
  { command, builder }: { readonly command: string; readonly builder?: string | undefined },
): Provenance {
  const git = (...words: string[]) =>
    execFileSync('git', words, {
      cwd: root,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
  const tools = `node ${process.versions.node} on ${process.platform}-${process.arch}`;
  return {
    commit: git('rev-parse', 'HEAD').trim(),
    committed: new Date(git('log', '-1', '--format=%cI').trim()).toISOString(),
    isModified: git('status', '--porcelain', '--untracked-files=no').trim() !== '',
    repository: repositoryOf(git),
    builder: builder ?? tools,
    command,
  };
}

/** Without a login, which the address of a clone may have. */
function repositoryOf(git: (...words: string[]) => string): string {
  try {
    const address = git('config', '--get', 'remote.origin.url').trim();
    return /^https?:/.test(address) ? address.replace(/\/\/[^@/]*@/, '//') : '';
  } catch {
    return '';
  }
}

/** The bill with its provenance, and without what differs from one run to the next. */
export function withProvenance(bill: BillOfMaterials, from: Provenance) {
  const { commit, committed, isModified, repository, builder, command } = from;
  const properties = Object.entries({
    'svc:source:commit': commit,
    'svc:source:modified': String(isModified),
    'svc:build:builder': builder,
    'svc:build:command': command,
  }).map(([name, value]) => ({ name, value }));
  const source = { url: repository || `git:${commit}`, type: 'vcs', comment: commit };
  const { metadata = {} } = bill as { readonly metadata?: Readonly<Record<string, unknown>> };
  return {
    ...bill,
    serialNumber: `urn:uuid:${uuidOf(`${commit} ${process.arch} ${builder}`)}`,
    metadata: { ...metadata, timestamp: committed, lifecycles: [{ phase: 'build' }], properties },
    formulation: [
      {
        workflows: [
          {
            'bom-ref': 'build',
            uid: commit,
            name: `svc ${packageJson.version}`,
            taskTypes: ['build'],
            inputs: [{ source: { externalReference: source } }],
            steps: [{ name: 'release', commands: [{ executed: command }] }],
          },
        ],
      },
    ],
  };
}

/** A UUID made from a text (RFC 9562, section 5.8). */
function uuidOf(text: string): string {
  const hex = createHash('sha256').update(text).digest('hex');
  const [a, b, c, d, e] = [
    hex.slice(0, 8),
    hex.slice(8, 12),
    hex.slice(13, 16),
    hex.slice(17, 20),
  ].concat(hex.slice(20, 32));
  return `${a}-${b}-8${c}-8${d}-${e}`;
}
