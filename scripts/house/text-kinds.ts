/**
 * The text of a module by its readers: strings (displayed to users if they are sentences), comments
 * (read by engineers) and the code itself. Types are blanked for the parser and read as code; every
 * part keeps its lines.
 */
import { stripTypeScriptTypes } from 'node:module';
import { type Node, parse } from 'acorn';
import { full } from 'acorn-walk';

export interface TextPart {
  readonly kind: 'comment' | 'string' | 'code';
  /** Line on which it starts, from 1. */
  readonly line: number;
  readonly text: string;
}

/** Comments and strings, each as one part. Each line of code is a part of its own. */
export function textParts(source: string): TextPart[] {
  const parts: (TextPart & { readonly start: number; readonly end: number })[] = [];
  const lineAt = (offset: number) => source.slice(0, offset).split('\n').length;
  const add = (kind: 'comment' | 'string', text: string, at: { start: number; end: number }) =>
    void parts.push({ kind, text, line: lineAt(at.start), start: at.start, end: at.end });
  const program = parse(stripTypeScriptTypes(source), {
    ecmaVersion: 'latest',
    sourceType: 'module',
    allowHashBang: true,
    onComment: (_block, text, start, end) => add('comment', text, { start, end }),
  });
  full(program, (node) => {
    if (node.type === 'Literal') {
      const { value } = node as Node & { readonly value: unknown };
      if (typeof value === 'string') add('string', value, node);
    } else if (node.type === 'TemplateElement') {
      const { value } = node as Node & { readonly value: { readonly raw: string } };
      add('string', value.raw, node);
    }
  });
  let code = source;
  for (const { start, end } of parts) {
    code = code.slice(0, start) + source.slice(start, end).replace(/[^\n]/g, ' ') + code.slice(end);
  }
  const lines = code.split('\n').map((text, i): TextPart => ({ kind: 'code', line: i + 1, text }));
  return [
    ...parts.map(({ kind, line, text }): TextPart => ({ kind, line, text })),
    ...lines.filter(({ text }) => text.trim() !== ''),
  ];
}

export interface CommentShare {
  readonly comment: number;
  readonly all: number;
}

/**
 * Lines that contain only comments, of all lines that are not empty; and the same in characters.
 */
export function commentShares(source: string): { lines: CommentShare; characters: CommentShare } {
  const lines = { comment: 0, all: 0 };
  const characters = { comment: 0, all: 0 };
  let isInBlock = false;
  for (const line of source.split('\n')) {
    const text = line.trim();
    if (text === '') continue;
    const isComment = isInBlock || text.startsWith('//') || text.startsWith('/*');
    lines.all++;
    characters.all += text.length;
    lines.comment += isComment ? 1 : 0;
    characters.comment += isComment ? text.length : 0;
    if (text.startsWith('/*')) isInBlock = true;
    if (text.endsWith('*/')) isInBlock = false;
  }
  return { lines, characters };
}
