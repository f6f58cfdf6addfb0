/**
 * A diagram as a standalone file, for an audit: no styles, scripts or references, and nothing from
 * the page except shapes and their texts.
 */
const NAMESPACE = 'http://www.w3.org/2000/svg';
/** Attributes that belong to the page. */
const OF_THE_PAGE = /^(class|id|role|tabindex|style|aria-.*|data-.*|on.*)$/i;

/** The text of the file. `title` names the diagram, the instance and the time. */
export function svgFileOf(drawing: SVGSVGElement, title: string): string {
  const copy = drawing.cloneNode(true);
  if (!(copy instanceof SVGSVGElement))
    throw new Error('The copy of a diagram is not an SVG element');
  for (const element of [copy, ...copy.querySelectorAll('*')]) {
    for (const name of element.getAttributeNames()) {
      if (OF_THE_PAGE.test(name)) element.removeAttribute(name);
    }
  }
  const { width, height } = drawing.viewBox.baseVal;
  copy.setAttribute('width', String(width));
  copy.setAttribute('height', String(height));
  const name = document.createElementNS(NAMESPACE, 'title');
  name.textContent = xmlTextOf(title);
  copy.prepend(name);
  return `<?xml version="1.0" encoding="UTF-8"?>\n${new XMLSerializer().serializeToString(copy)}\n`;
}

/** Removes characters that XML cannot contain; the serializer escapes the rest. */
function xmlTextOf(text: string): string {
  return text.replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, '');
}
