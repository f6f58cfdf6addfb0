/**
 * The commit-message hook: `node scripts/commit-message.ts FILE` checks the message that git has
 * written to FILE. `npm run hooks` installs it.
 */
import { readFileSync } from 'node:fs';
import { patternOf } from './voice/patterns.ts';

const SUBJECT_LENGTH_MAX = 72;
const LINE_LENGTH_MAX = 100;
/** Subjects that git writes itself. */
const GIT_SUBJECT = /^(?:Merge|Revert|fixup!|squash!) /;
const FORM = /^[a-z][a-z0-9 -]*: [a-z]/;
/** The verb is not in the imperative: it describes, reports or names a thing. */
const NO_IMPERATIVE =
  /^(?:(?:add|fix|mov|chang|remov|updat|us)(?:es|ed|s)|\w+ing|the|a|an|no|all|what|who|that)\b/;

/** Why the message is not accepted, a line each; empty: it is. */
export function messageProblems(message: string): string[] {
  const lines = message.split('\n').filter((line) => !line.startsWith('#'));
  const subject = lines[0] ?? '';
  if (GIT_SUBJECT.test(subject)) return [];
  const problems: string[] = [];
  const text = subject.slice(subject.indexOf(': ') + 2);
  if (!FORM.test(subject)) {
    problems.push('The subject is not `area: imperative`. Write "history: split long days".');
  } else if (NO_IMPERATIVE.test(text)) {
    problems.push(`"${text}" does not begin with an imperative. Write what the commit does.`);
  }
  if (subject.length > SUBJECT_LENGTH_MAX) {
    problems.push(
      `The subject has ${subject.length} characters. At most ${SUBJECT_LENGTH_MAX} are allowed.`,
    );
  }
  if (/[;.]/.test(text.replace(/[;.]\w/g, ''))) {
    problems.push('The subject has several sentences. Commit one change at a time.');
  }
  const pattern = patternOf(text);
  if (pattern) problems.push(`The subject has a ${pattern.name}. ${pattern.instead}`);
  if (lines.length > 1 && lines[1] !== '') {
    problems.push('The second line is not blank. Leave a blank line after the subject.');
  }
  const long = lines.slice(2).find((line) => line.length > LINE_LENGTH_MAX && line.includes(' '));
  if (long)
    problems.push(`A line of the body is longer than ${LINE_LENGTH_MAX} characters: ${long}`);
  return problems;
}

if (import.meta.main) {
  const [, , file = '.git/COMMIT_EDITMSG'] = process.argv;
  const problems = messageProblems(readFileSync(file, 'utf8'));
  for (const problem of problems) process.stderr.write(`${problem}\n`);
  if (problems.length > 0) process.stderr.write('CONTRIBUTING.md, "Commits", has examples.\n');
  process.exitCode = problems.length > 0 ? 1 : 0;
}
