/**
 * Draws a statechart as SVG, self-contained and on a light background, with the sentence of each
 * state and event as a tooltip. The layout comes from `layout.ts`; this file only paints.
 */
import type { MachineDefinition } from '../../../machines/platform/definition.ts';
import { type ChartArrow, chartOf, labelOf } from './chart.ts';
import {
  HEADER,
  LABEL_SIZE,
  type Layout,
  LINE,
  layoutOf,
  NAME_SIZE,
  type PlacedArrow,
  type PlacedState,
  type Point,
  START_RADIUS,
} from './layout.ts';

/** The machine's drawing as an SVG document. The same machine gives the same text. */
export async function toSvg(definition: MachineDefinition): Promise<string> {
  return svgOf(definition, await layoutOf(chartOf(definition)));
}

/** The same of a layout that is known. */
export function svgOf(definition: MachineDefinition, layout: Layout): string {
  const { width, height, states, starts, arrows } = layout;
  const title = `${definition.name}, version ${definition.version}`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="${escaped(title)}">`,
    `<title>${escaped(`${title}: ${definition.description}`)}</title>`,
    `<style>${style}</style>`,
    arrowHead,
    `<rect class="paper" width="${width}" height="${height}"/>`,
    ...states.map(paintState),
    ...starts.map(({ x, y }) => `<circle class="start" cx="${x}" cy="${y}" r="${START_RADIUS}"/>`),
    // Lines before labels: a label's background then hides whatever line crosses it.
    ...arrows.map(paintLine),
    ...arrows.map(paintLabel),
    '</svg>',
    '',
  ].join('\n');
}

const style = [
  'text{font-family:Helvetica,Arial,"Liberation Sans",sans-serif;fill:#1f2933}',
  '.paper{fill:#ffffff}',
  '.state{fill:#f3f7fb;stroke:#3e5c76;stroke-width:1.4}',
  '.compound{fill:#fbfcfe;stroke:#3e5c76;stroke-width:1.4}',
  '.region{fill:#ffffff;stroke:#9fb3c8;stroke-width:1.2;stroke-dasharray:5 4}',
  '.final{fill:#eef0f2;stroke:#52606d;stroke-width:1.4}',
  '.inner{fill:none;stroke:#52606d;stroke-width:1}',
  '.rule{stroke:#bcccdc;stroke-width:1}',
  `.name{font-size:${NAME_SIZE}px;font-weight:600;text-anchor:middle}`,
  `.event{font-size:${LABEL_SIZE}px}`,
  '.line{fill:none;stroke:#52606d;stroke-width:1.3}',
  '.back{fill:#ffffff}',
  '.start,.head{fill:#1f2933}',
].join('');

const arrowHead =
  '<defs><marker id="head" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" orient="auto-start-reverse"><path class="head" d="M0 1 L10 5 L0 9 z"/></marker></defs>';

function paintState({ state, stays, x, y, width, height }: PlacedState): string {
  const regions = state.id.split('.').length > 2 && state.children.length > 0;
  const kind = state.children.length === 0 ? 'state' : regions ? 'region' : 'compound';
  const shape = state.kind === 'final' ? 'final' : kind;
  const middle = x + width / 2;
  const lines = [
    `<g><title>${escaped(`${state.name}: ${state.description}`)}</title>`,
    `<rect class="${shape}" x="${x}" y="${y}" width="${width}" height="${height}" rx="8"/>`,
    `<text class="name" x="${middle}" y="${y + 22}">${escaped(state.name)}</text></g>`,
  ];
  if (state.kind === 'final') lines.push(innerFrame({ x, y, width, height }));
  if (stays.length > 0) {
    lines.push(
      `<line class="rule" x1="${x}" y1="${y + HEADER}" x2="${x + width}" y2="${y + HEADER}"/>`,
    );
  }
  return [
    ...lines,
    ...stays.map((arrow, i) => paintStay(arrow, x + 12, y + HEADER + 14 + i * LINE)),
  ].join('\n');
}

/** A final state has a double frame, as in UML's bull's-eye. */
function innerFrame({ x, y, width, height }: Point & { width: number; height: number }): string {
  return `<rect class="inner" x="${x + 3}" y="${y + 3}" width="${width - 6}" height="${height - 6}" rx="6"/>`;
}

function paintStay(arrow: ChartArrow, x: number, y: number): string {
  return `<text class="event" x="${x}" y="${y}">${titled(arrow)}${escaped(labelOf(arrow))}</text>`;
}

function paintLine({ points, arrows }: PlacedArrow): string {
  const path = points.map(({ x, y }, i) => `${i === 0 ? 'M' : 'L'}${x} ${y}`).join(' ');
  const title = arrows.map((arrow) => `${labelOf(arrow)}: ${arrow.description}`).join('\n');
  const tooltip = title === '' ? '' : `<title>${escaped(title)}</title>`;
  return `<path class="line" d="${path}" marker-end="url(#head)">${tooltip}</path>`;
}

function paintLabel({ label, arrows }: PlacedArrow): string {
  if (!label) return '';
  const { x, y, width, height } = label;
  const texts = arrows.map((arrow, i) => {
    const baseline = y + 12 + i * LINE;
    return `<text class="event" x="${x + 4}" y="${baseline}">${titled(arrow)}${escaped(labelOf(arrow))}</text>`;
  });
  return [
    `<rect class="back" x="${x}" y="${y}" width="${width}" height="${height}"/>`,
    ...texts,
  ].join('\n');
}

function titled(arrow: ChartArrow): string {
  return `<title>${escaped(arrow.description)}</title>`;
}

function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
