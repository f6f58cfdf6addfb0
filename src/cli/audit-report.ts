/** What `svc audit verify` says to people: what holds, what does not, and what was not proven. */
import type { LogVerification } from '../../actors/audit/log-verifier.ts';
import type { Broken, ProjectVerification } from '../../actors/audit/project-check.ts';
import type { SinkComparison } from '../audit/export/compare-sink.ts';
import { tableLines } from '../platform/table.ts';

export function verificationText(verification: LogVerification): string {
  const { projects, hasLog } = verification;
  if (projects.length === 0) return 'There are no commits yet: nothing to prove\n';
  const columns = [
    { title: 'project' },
    ...['commits', 'headers alone', 'steps', 'decided again'].map((title) => ({
      ...{ title, align: 'right' as const },
    })),
    { title: 'result' },
  ];
  const broken = projects.flatMap((project) => (project.broken ? [project.broken] : []));
  const rows = projects.map((project) => rowOf(project, hasLog));
  const end = broken.length === 0 ? provenLines(verification) : brokenLines(broken);
  return [...tableLines(columns, rows), '', ...end, ''].join('\n');
}

/** Does everything hold, and was the log there to prove it by? */
export function isProven({ projects, hasLog }: LogVerification): boolean {
  return projects.every(({ broken }) => broken === null) && (hasLog || projects.length === 0);
}

/** Does the sink hold commits, each as the log has it, with none missing in between? */
export function isWholeSink({ faults, same, letGo }: SinkComparison): boolean {
  return faults.length === 0 && same + letGo > 0;
}

export function sinkText(comparison: SinkComparison): string {
  const { lines, same, letGo, cutOff, faults } = comparison;
  const counts = `${inGroups(lines)} lines: ${inGroups(same)} commits as the log has them, ${inGroups(letGo)} older than the log, ${inGroups(cutOff)} cut off`;
  if (faults.length > 0)
    return [counts, ...faults.map((fault) => `BROKEN: ${fault}`), ''].join('\n');
  const result = isWholeSink(comparison)
    ? 'Proven: between the first and the last of these commits none is missing.'
    : 'The sink holds no commits: nothing is proven.';
  return [counts, result, ''].join('\n');
}

function rowOf(project: ProjectVerification, hasLog: boolean): string[] {
  const { commits, headersAlone, steps, decidedAgain } = project;
  const counts = [commits, headersAlone, steps, decidedAgain].map(inGroups);
  return [project.project, ...counts, resultOf(project, hasLog)];
}

function resultOf({ broken, headersAlone }: ProjectVerification, hasLog: boolean): string {
  if (broken?.commit) return `BROKEN at commit ${broken.commit.number}`;
  if (broken) return 'BROKEN: of no commit';
  if (!hasLog) return 'chain alone';
  return headersAlone === 0 ? 'holds' : 'holds, as far as the log goes back';
}

function provenLines({ projects, hasLog }: LogVerification): string[] {
  const sum = (field: 'headersAlone' | 'stateAlone' | 'instances' | 'commits'): number =>
    projects.reduce((total, project) => total + project[field], 0);
  const headers = sum('headersAlone');
  const chain =
    'Proven: every chain of commits is whole; each transition that audit shows stands under a ' +
    'commit of its project; each instance is in the state that its last transition came to.';
  const bodies = `who decided what in ${inGroups(headers)} of ${inGroups(sum('commits'))} commits`;
  const begins = beginLines(projects);
  const rows = `more than the state of ${inGroups(sum('stateAlone'))} of ${inGroups(sum('instances'))} instances`;
  const notProven = `Not proven: ${bodies}, and ${rows}`;
  if (!hasLog) {
    const how = 'start the service, whose log is on a server, and ask again';
    return [chain, `${notProven}, because the log is not here: ${how}.`, ...begins];
  }
  if (headers > 0) {
    const held = 'What the log still holds is what was committed.';
    return [chain, held, `${notProven}: too old.`, ...begins];
  }
  return ['Every chain is whole, and what is recorded is what was committed.', ...begins];
}

/** Where older commits were let go after their time, which a commit of each chain vouches for. */
function beginLines(projects: readonly ProjectVerification[]): string[] {
  return projects.flatMap(({ project, start }) => {
    if (start === null) return [];
    const { number, atMs } = start;
    const date = new Date(atMs).toISOString().slice(0, 10);
    return [
      `${project} begins after commit ${inGroups(number)} of ${date}: older ones were let go.`,
    ];
  });
}

function brokenLines(broken: readonly Broken[]): string[] {
  return [
    'The first thing of each project that does not hold:',
    ...broken.map(({ project, commit, detail }) => {
      const at = commit && `commit ${commit.number} (${commit.id}, position ${commit.sequence})`;
      return `  ${project}: ${at ?? 'of no commit'}: ${detail}`;
    }),
    '',
    'What to do:',
    '  1. Keep a copy of the data folder as it is: it is the evidence.',
    '  2. Look for a failing disk (dmesg, smartctl), and for who could write to the folder.',
    '  3. Restore the folder from a copy that holds: run this command on it first.',
  ];
}

function inGroups(value: number): string {
  return value.toLocaleString('en-US');
}
