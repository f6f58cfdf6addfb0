/** What `svc audit verify` says to people. */
import type {
  BrokenCommit,
  LogVerification,
  ProjectVerification,
} from '../../actors/audit/log-verifier.ts';
import { tableLines } from './table.ts';

export function verificationText({ projects }: LogVerification): string {
  if (projects.length === 0) return 'There are no commits yet: nothing to prove\n';
  const columns = [
    { title: 'project' },
    ...['commits', 'headers alone', 'steps', 'decided again'].map((title) => ({
      ...{ title, align: 'right' as const },
    })),
    { title: 'result' },
  ];
  const broken = projects.flatMap((project) => (project.broken ? [project.broken] : []));
  return [
    ...tableLines(columns, projects.map(rowOf)),
    '',
    ...(broken.length === 0 ? [HOLDS] : brokenLines(broken)),
    '',
  ].join('\n');
}

const HOLDS = 'Every chain is whole, and what is recorded is what was committed.';

function rowOf(project: ProjectVerification): string[] {
  const { commits, headersAlone, steps, decidedAgain, broken } = project;
  const counts = [commits, headersAlone, steps, decidedAgain].map((value) =>
    value.toLocaleString('en-US'),
  );
  return [project.project, ...counts, broken ? `BROKEN at commit ${broken.number}` : 'holds'];
}

function brokenLines(broken: readonly BrokenCommit[]): string[] {
  return [
    'The first commit of each project that does not hold:',
    ...broken.map(
      ({ project, number, id, sequence, detail }) =>
        `  ${project}: commit ${number} (${id}, position ${sequence}): ${detail}`,
    ),
    '',
    'What to do:',
    '  1. Keep a copy of the data folder as it is: it is the evidence.',
    '  2. Look for a failing disk (dmesg, smartctl), and for who could write to the folder.',
    '  3. Restore the folder from a copy that holds: run this command on it first.',
  ];
}
