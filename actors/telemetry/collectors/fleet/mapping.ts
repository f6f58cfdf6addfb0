/**
 * Mapping of a fleet: which libvirts are read, and which domain belongs to which project. The
 * operator writes it, one statement per line; the first rule that matches a domain decides. Pure.
 *
 *     source qemu+ssh://monitor@host-a/system
 *     uuid 4c4c4544-0051-4e10-8050-b7c04f4b4d32 project shop
 *     name shop-* project shop
 *     metadata urn:svc:project
 *     metadata urn:svc:project gold-* project premium
 */
import { createHash } from 'node:crypto';
import { redactedUrl } from '../../../../streams/platform/redacted-url.ts';

/** A rule, and its line. */
export type Rule = { readonly line: number } & (
  | { readonly kind: 'uuid'; readonly uuid: string; readonly project: string }
  | { readonly kind: 'name'; readonly pattern: RegExp; readonly project: string }
  /** Without a project, the element's text is the project id. */
  | {
      readonly kind: 'metadata';
      readonly uri: string;
      readonly pattern?: RegExp;
      readonly project?: string;
    }
);

export interface Mapping {
  /** URIs of libvirt, each once. */
  readonly sources: readonly string[];
  readonly rules: readonly Rule[];
  /** Namespaces of the metadata elements used by rules. */
  readonly namespaces: readonly string[];
}

/** A mapping that cannot be used; each problem names its line. */
export class UnusableMapping extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.name = 'UnusableMapping';
    this.problems = problems;
  }
}

/** A domain as rules see it. */
export interface MappedDomain {
  readonly uuid: string;
  readonly name: string;
  /** Text of its metadata element in a namespace; null: it has none; undefined: not known yet. */
  readonly metadata: (namespace: string) => string | null | undefined;
}

/** The project of a domain. `unknown`: a rule needs metadata that could not be read yet. */
export type Place =
  | { readonly kind: 'project'; readonly project: string; readonly line: number }
  | { readonly kind: 'unmatched' }
  | { readonly kind: 'unknown' };

const UNMATCHED: Place = { kind: 'unmatched' };
const PROJECT_ID = /^(?!\.{1,2}$)[A-Za-z0-9._~-]{1,128}$/;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const SOURCE = /^[a-z][a-z0-9]*(\+[a-z0-9]+)?:\/\/\S*$/;

/**
 * Name of a libvirt in logs, status and placements: its URI without its login, and with a digest in
 * place of its query, which distinguishes two sockets of one host.
 */
export function sourceName(uri: string): string {
  const [place = '', query] = uri.split('?', 2);
  if (query === undefined) return redactedUrl(uri);
  return `${redactedUrl(place)}?${createHash('sha256').update(query).digest('hex').slice(0, 8)}`;
}

/** The first rule that matches. */
export function placeOf({ rules }: Pick<Mapping, 'rules'>, domain: MappedDomain): Place {
  for (const rule of rules) {
    const place = fit(rule, domain);
    if (place !== undefined) return place;
  }
  return UNMATCHED;
}

function fit(rule: Rule, domain: MappedDomain): Place | undefined {
  const { line } = rule;
  if (rule.kind === 'uuid') {
    return rule.uuid === domain.uuid ? { kind: 'project', project: rule.project, line } : undefined;
  }
  if (rule.kind === 'name') {
    const fits = rule.pattern.test(domain.name);
    return fits ? { kind: 'project', project: rule.project, line } : undefined;
  }
  const text = domain.metadata(rule.uri);
  if (text === undefined) return { kind: 'unknown' };
  if (text === null || (rule.pattern && !rule.pattern.test(text))) return undefined;
  const project = rule.project ?? text;
  // An element that does not name a project is a mistake: a wider rule must not catch its domain.
  return PROJECT_ID.test(project) ? { kind: 'project', project, line } : UNMATCHED;
}

/** Throws `UnusableMapping` with every problem. */
export function parseMapping(text: string): Mapping {
  const reader = new MappingReader();
  text.split('\n').forEach((line, i) => {
    reader.take(wordsOf(line), i + 1);
  });
  return reader.mapping();
}

/** Words of a line, without its comment. Quotes hold blanks together. */
function wordsOf(line: string): string[] {
  const words = line.trim().match(/"[^"]*"|\S+/g) ?? [];
  const end = words.findIndex((word) => word.startsWith('#'));
  return (end < 0 ? words : words.slice(0, end)).map((word) => word.replace(/^"(.*)"$/, '$1'));
}

class MappingReader {
  readonly #problems: string[] = [];
  readonly #sources = new Map<string, { readonly uri: string; readonly line: number }>();
  readonly #rules: Rule[] = [];
  readonly #uuids = new Map<string, number>();
  /** Line of a rule that matches every domain. */
  #last: number | undefined;

  take(words: readonly string[], line: number): void {
    const [what, ...rest] = words;
    if (what === undefined) return;
    const problem = this.#read(what, rest, line);
    if (problem !== undefined) this.#problems.push(`line ${line}: ${problem}`);
  }

  mapping(): Mapping {
    const sources = [...this.#sources.values()].map(({ uri }) => uri);
    const missing = [
      ...(sources.length === 0 ? ['there is no source: "source qemu:///system"'] : []),
      ...(this.#rules.length === 0 ? ['there is no rule: "name shop-* project shop"'] : []),
    ];
    // A misspelt statement does not count as missing.
    const problems = this.#problems.length > 0 ? this.#problems : missing;
    if (problems.length > 0) throw new UnusableMapping(problems);
    const uris = this.#rules.flatMap((rule) => (rule.kind === 'metadata' ? [rule.uri] : []));
    return { sources, rules: this.#rules, namespaces: [...new Set(uris)] };
  }

  /** Returns the problem, if any. */
  #read(what: string, rest: readonly string[], line: number): string | undefined {
    if (what === 'source') return this.#source(rest, line);
    if (!['uuid', 'name', 'metadata'].includes(what)) {
      return `${JSON.stringify(what)} is not a statement: use source, uuid, name or metadata`;
    }
    if (this.#last !== undefined)
      return `is never reached: line ${this.#last} matches every domain`;
    if (what === 'metadata') return this.#metadata(rest, line);
    const [given = '', word, project = '', ...more] = rest;
    if (given === '' || word !== 'project' || more.length > 0) {
      const form = what === 'uuid' ? 'uuid UUID project ID' : 'name PATTERN project ID';
      return `must have the form "${form}"`;
    }
    if (!PROJECT_ID.test(project)) return notAProject(project);
    if (what === 'uuid') return this.#uuid(given.toLowerCase(), project, line);
    if (/^\*+$/.test(given)) this.#last = line;
    this.#rules.push({ kind: 'name', pattern: patternOf(given), project, line });
    return undefined;
  }

  #source(rest: readonly string[], line: number): string | undefined {
    const [uri = '', ...more] = rest;
    if (!SOURCE.test(uri) || more.length > 0) {
      const given = JSON.stringify(redactedUrl(rest.join(' ')));
      return `${given} is not a libvirt URI such as qemu:///system or qemu+ssh://user@host/system`;
    }
    const name = sourceName(uri);
    const before = this.#sources.get(name);
    if (before !== undefined) return `${name} is already on line ${before.line}`;
    this.#sources.set(name, { uri, line });
    return undefined;
  }

  #uuid(uuid: string, project: string, line: number): string | undefined {
    if (!UUID.test(uuid)) return `${JSON.stringify(uuid)} is not a UUID`;
    const before = this.#uuids.get(uuid);
    if (before !== undefined) return `${uuid} is already on line ${before}`;
    this.#uuids.set(uuid, line);
    this.#rules.push({ kind: 'uuid', uuid, project, line });
    return undefined;
  }

  #metadata([uri = '', ...rest]: readonly string[], line: number): string | undefined {
    if (!/^[\w.:/?&=%~+#-]{1,500}$/.test(uri)) {
      return `${JSON.stringify(uri)} is not a namespace of a metadata element`;
    }
    const [given, word, project = '', ...more] = rest;
    if (given === undefined) {
      this.#rules.push({ kind: 'metadata', uri, line });
      return undefined;
    }
    if (word !== 'project' || more.length > 0) {
      return 'must have the form "metadata NAMESPACE" or "metadata NAMESPACE PATTERN project ID"';
    }
    if (!PROJECT_ID.test(project)) return notAProject(project);
    this.#rules.push({ kind: 'metadata', uri, pattern: patternOf(given), project, line });
    return undefined;
  }
}

function notAProject(given: string): string {
  return `${JSON.stringify(given)} is not a project: use its ID, such as shop`;
}

/** `*` matches any text, `?` one character; the whole name must match. */
function patternOf(glob: string): RegExp {
  const escaped = glob.replace(/[.+^${}()|[\]\\]/g, '\\$&');
  // Runs of stars would take exponential time on a name that does not match.
  const source = escaped.replace(/\*+/g, '.*').replaceAll('?', '.');
  return new RegExp(`^${source}$`, 'su');
}
