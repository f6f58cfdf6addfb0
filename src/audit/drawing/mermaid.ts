/**
 * Writes a statechart as Mermaid `stateDiagram-v2`: text that code hosts render and that diffs
 * well. Arrows of one pair of states share one line, because Mermaid draws parallel arrows over
 * each other.
 */
import type { MachineDefinition } from '../../../machines/platform/definition.ts';
import { type Chart, type ChartArrow, type ChartState, chartOf, labelOf } from './chart.ts';

/** The machine's Mermaid source, ending in a line break. The same machine gives the same text. */
export function toMermaid(definition: MachineDefinition): string {
  const chart = chartOf(definition);
  const lines = [
    'stateDiagram-v2',
    `  %% ${chart.name}, version ${chart.version}: ${textOf(chart.description)}`,
    ...bodyOf(chart.root, mergedArrows(chart), 1),
  ];
  return `${lines.join('\n')}\n`;
}

/** Lines of arrows, by the state inside which they must be written. */
type ArrowLines = ReadonlyMap<string, readonly string[]>;

function bodyOf(state: ChartState, arrows: ArrowLines, depth: number): string[] {
  const indent = '  '.repeat(depth);
  const start = state.initial === undefined ? [] : [`${indent}[*] --> ${idOf(state.initial)}`];
  const separator = state.kind === 'parallel' ? [`${indent}--`] : [];
  const children = state.children.flatMap((child, i) => [
    ...(i > 0 ? separator : []),
    ...declaration(child, arrows, depth),
  ]);
  const own = (arrows.get(state.id) ?? []).map((line) => indent + line);
  return [...start, ...children, ...own];
}

function declaration(state: ChartState, arrows: ArrowLines, depth: number): string[] {
  const indent = '  '.repeat(depth);
  const id = idOf(state.id);
  if (state.children.length > 0) {
    const opening = `${indent}state "${state.name}" as ${id} {`;
    return [opening, ...bodyOf(state, arrows, depth + 1), `${indent}}`];
  }
  // The first text is the title of the box, the second one is below it.
  const texts = [`${indent}${id} : ${state.name}`, `${indent}${id} : ${textOf(state.description)}`];
  return state.kind === 'final' ? [...texts, `${indent}${id} --> [*]`] : texts;
}

function mergedArrows({ arrows }: Chart): ArrowLines {
  const byPair = Map.groupBy(arrows, ({ source, target }) => `${source} ${target ?? source}`);
  const lines = new Map<string, string[]>();
  for (const group of byPair.values()) {
    const [first] = group;
    if (!first) continue;
    const target = first.target ?? first.source;
    const home = homeOf(first.source, target);
    const label = group.map((arrow) => textOf(labelInText(arrow))).join('<br/>');
    const line = `${idOf(first.source)} --> ${idOf(target)} : ${label}`;
    lines.set(home, [...(lines.get(home) ?? []), line]);
  }
  return lines;
}

/**
 * The innermost state around both, because Mermaid requires an arrow beside the states that it
 * joins.
 */
function homeOf(source: string, target: string): string {
  const from = source.split('.').slice(0, -1);
  const to = target.split('.').slice(0, -1);
  const apart = from.findIndex((part, i) => part !== to[i]);
  return from.slice(0, apart < 0 ? from.length : apart).join('.');
}

/**
 * An arrow without a target differs from a self-transition, which leaves and re-enters the state.
 */
function labelInText(arrow: ChartArrow): string {
  return arrow.target === undefined ? `${labelOf(arrow)} (stays)` : labelOf(arrow);
}

/** Mermaid ids cannot contain dots; the machine's own name is omitted. */
function idOf(stateId: string): string {
  return stateId.split('.').slice(1).join('_');
}

/** Mermaid ends a text at a semicolon and interprets a colon. */
function textOf(text: string): string {
  return text.replaceAll(';', ',').replaceAll(': ', ' - ').replaceAll('"', "'");
}
