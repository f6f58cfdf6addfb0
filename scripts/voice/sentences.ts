/** The sentences of a file: comments and texts of code, and the prose of a document. */

/** Shorter fragments are labels. */
const LENGTH_MIN = 13;
/** A string of fewer words is a name or a value. */
const SPACES_MIN = 2;

const COMMENTS = /\/\*\*?[\s\S]*?\*\/|^[ \t]*\/\/[^\n]*(?:\n[ \t]*\/\/[^\n]*)*/gm;
const STRINGS = /(['"`])((?:(?!\1)[^\n]){14,})\1/g;

function split(text: string): string[] {
  const plain = text.replaceAll(/\s+/g, ' ').trim();
  return plain.split(/(?<=[.;:!?])\s+/).filter((sentence) => sentence.length >= LENGTH_MIN);
}

function inMarkdown(text: string): string[] {
  const lines = text.replaceAll(/```[\s\S]*?```/g, '').split('\n');
  return lines.flatMap((line) => split(line.replaceAll(/[|*#>`]|^[-\d. ]+/g, ' ')));
}

function inCode(text: string): string[] {
  const comments = [...text.matchAll(COMMENTS)].map(([comment]) =>
    comment.replaceAll(/^\s*(?:\/\*\*?|\*\/|\*|\/\/)\s?/gm, '').replaceAll('*/', ''),
  );
  const strings = [...text.matchAll(STRINGS)]
    .map(([, , content = '']) => content)
    .filter((content) => content.split(' ').length > SPACES_MIN);
  return [...comments, ...strings].flatMap(split);
}

/** `path` decides how `text` is read. */
export function sentencesOf(path: string, text: string): string[] {
  return path.endsWith('.md') ? inMarkdown(text) : inCode(text);
}
