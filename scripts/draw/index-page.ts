/** Writes docs/machines/README.md: each machine's picture, with tables of its states and events. */
import type { MachineDefinition } from '../../machines/platform/definition.ts';
import { type Chart, chartOf, statesIn } from '../../src/audit/drawing/chart.ts';

export function renderIndex(definitions: readonly MachineDefinition[]): string {
  const charts = definitions.map(chartOf);
  const contents = charts.map(
    ({ name, description }) => `- [${name}](#${anchorOf(name)}): ${description}`,
  );
  return [
    '# Machines',
    '',
    'Generated from `machines/` by `npm run draw`; do not edit. Each state machine of the service,',
    'as a picture and as tables.',
    '',
    ...contents,
    '',
    '## How to read the pictures',
    '',
    '- A black dot leads to the state entered first; a double frame is a final state, which has no exits.',
    '- An arrow has the event, and in brackets the condition (its guard) under which it is taken, in words.',
    '  If the same event has several arrows, the first one whose guard holds is taken.',
    '- `after x` is a timer: it starts when the state is entered and ends when it is left.',
    '- An event written inside a state changes data and leaves the state as it is.',
    '- Dashed boxes are regions: the machine is in one state of each of them at the same time.',
    '- An event that a state does not show has no effect there.',
    '',
    ...charts.flatMap(sectionOf),
  ].join('\n');
}

function sectionOf(chart: Chart): string[] {
  const states = statesIn(chart.root).slice(1);
  const stateRows = states.map(({ id, kind, description }) => [
    code(pathOf(id)),
    kind === 'atomic' ? '' : kind,
    description,
  ]);
  const eventRows = chart.arrows.map(({ source, event, guard, target, description }) => [
    code(pathOf(source)),
    code(event),
    guard === undefined ? '' : code(guard),
    target === undefined ? 'stays' : code(pathOf(target)),
    description,
  ]);
  return [
    `## ${chart.name}`,
    '',
    chart.description,
    '',
    `![States of ${chart.name}](${chart.name}.svg)`,
    '',
    `Version ${chart.version}.`,
    '',
    ...table(['state', 'kind', 'meaning'], stateRows),
    '',
    ...table(['from', 'event', 'if', 'to', 'meaning'], eventRows),
    '',
  ];
}

/** The state's id without the machine's name. */
function pathOf(stateId: string): string {
  return stateId.split('.').slice(1).join('.');
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)];
}

function code(text: string): string {
  return `\`${text}\``;
}

function anchorOf(heading: string): string {
  return heading.toLowerCase();
}
