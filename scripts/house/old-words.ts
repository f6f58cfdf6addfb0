/**
 * Words of this code's former dialect, and their replacements. Each pattern leaves legitimate uses
 * alone: "tell apart" is English, and the claims of a JWT are claims. `npm run house` lists the
 * remaining ones; `docs/glossary.md` explains the words in use.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Checkout } from './checkout.ts';
import { textParts } from './text-kinds.ts';

export interface OldWord {
  readonly word: string;
  readonly write: string;
  /** In sentences: documents, messages, help, comments. */
  readonly prose?: RegExp;
  /** In code, and in strings of one word. */
  readonly code?: RegExp;
  /** In the first line of a file's header. */
  readonly header?: RegExp;
}

const oldWords: readonly OldWord[] = [
  {
    word: 'tell, told, telling',
    write: 'notify, report, log, render, announce: the one that is meant',
    prose: /\b(tell|tells|told|telling)\b(?! us\b)(?!(?: \S+){0,3} (?:apart|from)\b)/gi,
    code: /\b(tell|told)(?=[A-Z]|\b)|Tell(?=[A-Z]|ing|\b)|Told|\btelling\b/g,
  },
  {
    word: 'lane',
    write: 'series buffer (evaluation), destination queue (delivery)',
    prose: /\blanes?\b/gi,
    code: /\blanes?(?=[A-Z]|\b)|Lanes?(?![a-z])/g,
  },
  {
    word: 'room',
    write: 'quota',
    prose: /\b(key|instance) room\b/gi,
    code: /(\bk|K)eyRoom|(\bi|I)nstanceRoom/g,
  },
  {
    word: 'claim (of a key used once)',
    write: 'once store',
    prose: /\bclaim store\b/gi,
    code: /[cC]laimStore|claim-store|\bClaims\b.*\bstreams\//g,
  },
  { word: 'breathe', write: 'yield', prose: /\bbreathe[sd]?\b/gi, code: /\b[bB]reathe/g },
  {
    word: 'allowance',
    write: 'rate limiter, limit',
    prose: /\ballowances?\b/gi,
    code: /[aA]llowance/g,
  },
  {
    word: 'standing',
    write: 'resolve the principal, revalidate; state',
    prose: /\b(good|no|whose|its|their) standing\b/gi,
    code: /\bstanding\b|\b[a-z]+Standing\b/g,
  },
  {
    word: 'log emptier',
    write: 'WAL truncator',
    prose: /\blog[- ]emptier\b/gi,
    code: /[lL]ogEmptier|log-emptier/g,
  },
  {
    word: 'fleet, census (of the evaluator)',
    write: 'VM liveness, outage detector',
    prose: /\bcensus\b/gi,
    code: /\bFleet\b|[cC]ensus|evaluator-fleet/g,
  },
  {
    word: 'deaf, excuse',
    write: 'blind window, suppress',
    prose: /\bdeaf\b|\bexcus(e|es|ed|ing)\b/gi,
    code: /\bdeaf|Deaf|\bexcuse|Excuse/g,
  },
  { word: 'question (a query)', write: 'query request', code: /[a-z]*Question\b/gi },
  { word: 'waited for by', write: 'nobody waits for it', prose: /\bwaited for by\b/gi },
  { word: 'what fires of it', write: 'its firing incidents', prose: /\bwhat fires of\b/gi },
  { word: 'no longer so', write: 'changed since', prose: /\bno longer so\b/gi },
  { word: 'anew', write: 'again', prose: /\banew\b/gi },
  {
    word: 'What or How at the head of a file',
    write: 'a noun or a verb that says what the file is',
    header: /^\W*(What|How)\b/g,
  },
];

/** Names that can no longer be changed, in the files that use them. */
const keptNames: readonly {
  readonly name: RegExp;
  readonly paths: RegExp;
  readonly reason: string;
}[] = [
  {
    name: /\b(ownersTold|told|untold)\b/g,
    paths: /^(actors\/identity\/access-notices|test\/delivery\/owner-notices\.test)\.ts$/,
    reason: 'A kind of record and its fields, in the data folders of earlier versions',
  },
  {
    name: /\bcensus\b/g,
    paths: /^streams\/alerting\/recording\.ts$/,
    reason: 'A key of the file format of recordings, which users keep',
  },
  {
    name: /[lL]anes?(?![a-z])|(?<=[a-z])Lanes?(?![a-z])/g,
    paths:
      /^(src\/dashboard\/pages\/alerting\/rules\/.*|test\/dashboard\/(alerting\/preview|rule-preview)\.test\.ts)$/,
    reason: 'A row in the drawing of a preview: one swimlane for each alert instance',
  },
  {
    name: /\blines\.question\b/g,
    paths: /^src\/cli\/client\/ports\.ts$/,
    reason: 'A method of node:readline',
  },
];

/** Its reader: users (`people`), readers of tests (their names), or engineers. */
export type Reader = 'people' | 'tests' | 'comments' | 'code';

export interface OldWordHit {
  readonly word: string;
  readonly reader: Reader;
  /** `file:line`. */
  readonly place: string;
  /** The sentence or the line of code, shortened. */
  readonly text: string;
}

/** They name the words in order to replace them, or report the past. */
const notSearched =
  /^(docs\/(glossary|decisions)|scripts\/house\/|test\/scripts\/house|CHANGELOG)|(^|\/)(gen|golden|recordings|node_modules)\//;
const TEXT_CHARACTERS_MAX = 100;

/** Every use of an old word in the modules, documents and .proto files of a checkout. */
export function findOldWords({ root, paths }: Checkout): OldWordHit[] {
  return paths
    .filter((path) => /\.(tsx?|md|proto)$/.test(path) && !notSearched.test(path))
    .flatMap((path) => oldWordsIn(path, readFileSync(join(root, path), 'utf8')));
}

/** The same for one file. */
export function oldWordsIn(path: string, source: string): OldWordHit[] {
  const kept = keptNames.filter(({ paths }) => paths.test(path));
  const text = kept.reduce(
    (left, { name }) => left.replace(name, (found) => 'x'.repeat(found.length)),
    source,
  );
  if (path.endsWith('.md')) return linesIn(text, 'prose', { path, line: 1, reader: 'people' });
  if (path.endsWith('.proto')) {
    const comments = text.replace(/^[^\n]*?(\/\/|$)/gm, '');
    return linesIn(comments, 'prose', { path, line: 1, reader: 'people' });
  }
  // Mostly elements. The texts of the pages are in modules without elements.
  if (path.endsWith('.tsx')) return linesIn(text, 'code', { path, line: 1, reader: 'code' });
  const isTest = /^(test|bench)\//.test(path);
  const parts = textParts(text);
  const header = parts.find(({ kind }) => kind === 'comment');
  return parts.flatMap(({ kind, line, text }) => {
    if (kind === 'code') return linesIn(text, 'code', { path, line, reader: 'code' });
    const [first = ''] = text.replace(/^\*\s*/, '').split('\n');
    if (kind === 'comment') {
      const at = { path, line, reader: 'comments' } as const;
      const inHeader = line === header?.line ? linesIn(first, 'header', at) : [];
      return [...inHeader, ...linesIn(text, 'prose', at)];
    }
    if (!text.trim().includes(' ')) return linesIn(text, 'code', { path, line, reader: 'code' });
    return linesIn(text, 'prose', { path, line, reader: isTest ? 'tests' : 'people' });
  });
}

interface Place {
  readonly path: string;
  readonly line: number;
  readonly reader: Reader;
}

function linesIn(text: string, where: 'prose' | 'code' | 'header', place: Place): OldWordHit[] {
  return text.split('\n').flatMap((line, i) =>
    oldWords.flatMap(({ word, [where]: pattern }) => {
      if (pattern === undefined) return [];
      return [...line.matchAll(pattern)].map(() => ({
        word,
        reader: place.reader,
        place: `${place.path}:${place.line + i}`,
        text: line.trim().slice(0, TEXT_CHARACTERS_MAX),
      }));
    }),
  );
}
