/**
 * Generator of docs/metrics.md: every metric of a VM and every series, from the catalogues that
 * queries and rules read.
 */
import { metricCatalogue } from '../../streams/telemetry/metrics/catalogue.ts';
import { seriesCatalogue } from '../../streams/telemetry/metrics/series-catalogue.ts';

const INTRODUCTION = `# Metrics and series of VMs

A *series* is what a source sends: a counter or a gauge with labels. A *metric* is what rules and queries read: a series itself, or a value
computed from series, such as a rate or a percentage. Generated from the catalogues in \`streams/telemetry/metrics\` by \`npm run generate\`.

A value that was not observed is absent. [reading.md](reading.md#causes) lists the causes, [sources.md](sources.md) where each source reads a
series and when it is absent.

## Metrics

\`svc alerts save --metric\`, \`QueryVMMonitoring\` and the charts take these ids. Percentages are 0 to 100. "Expanded" metrics need the
[agent](agent.md) inside the VM.
`;

/** The page, whole. */
export function metricsPage(): string {
  const rows = [...metricCatalogue.values()];
  const limitations = [...new Set(rows.map(({ limitation }) => limitation))];
  return [
    INTRODUCTION,
    '| metric | unit | observed by | in PromQL | limitation |',
    '| --- | --- | --- | --- | --- |',
    ...rows.map(({ metricId, unit, source, promqlName, limitation, expanded }) => {
      const by = expanded ? `${source}, expanded` : source;
      const note = `[${limitations.indexOf(limitation) + 1}](#limitations)`;
      return `| \`${metricId}\` | ${unit.replaceAll('_', ' ')} | ${by} | \`${promqlName}\` | ${note} |`;
    }),
    '',
    '### Limitations',
    '',
    ...limitations.map((text, place) => `${place + 1}. ${text}`),
    '',
    '## Series',
    '',
    'Readers see the labels `vm` (id) and `vm_name`, and those of a device, an interface or a mount point. A counter only grows, and',
    'restarts when its VM restarts. "Set by the row" series follow from a field of the row: a sender sets the field.',
    '',
    '| series | type | unit | meaning | set by the row |',
    '| --- | --- | --- | --- | --- |',
    ...[...seriesCatalogue.values()].map(
      ({ name, type, unit, help, rowField }) =>
        `| \`${name}\` | ${type} | ${unit} | ${help.replaceAll('|', '\\|')} | ${rowField ? `\`${rowField}\`` : ''} |`,
    ),
    '',
  ].join('\n');
}
