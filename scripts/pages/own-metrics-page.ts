/**
 * Generator of docs/operations/metrics.md: the metrics of the service itself, from the places in
 * the sources that register them. A registration without a literal name and help is an error.
 */
import { globSync, readFileSync } from 'node:fs';

const INTRODUCTION = `# The service's own metrics

Every metric that the metrics listener exposes ([monitoring.md](monitoring.md)). Generated from the registrations in \`src\` by
\`npm run generate\`. Some exist only where they apply: those of CI issuers, members and collectors, for example. A histogram has
\`_bucket\`, \`_sum\` and \`_count\`. Names and labels change as [versions.md](../versions.md) says.

| metric | type | meaning |
| --- | --- | --- |`;

interface Registration {
  readonly name: string;
  readonly type: string;
  readonly help: string;
}

/** The page, whole. */
export function ownMetricsPage(): string {
  const rows = globSync('src/**/*.ts')
    .flatMap((file) => registrationsIn(readFileSync(file, 'utf8'), file))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const lines = rows.map(({ name, type, help }) => `| \`${name}\` | ${type} | ${help} |`);
  return [INTRODUCTION, ...new Set(lines), ''].join('\n');
}

/** Throws for a registration whose help is computed: the table could not show it. */
function registrationsIn(code: string, file: string): Registration[] {
  const calls = code.matchAll(
    /\b(counter|gauge|histogram)\(\s*'((?:svc|process)_\w+)',\s*(?:'([^']+)'|"([^"]+)")?/g,
  );
  return [...calls].map(([, type = '', name = '', single, double]) => {
    const help = single ?? double;
    if (help === undefined) throw new Error(`${file}: the help of ${name} is not a literal text`);
    return { name, type, help: help.replaceAll('|', '\\|') };
  });
}
