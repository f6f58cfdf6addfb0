/**
 * Circles of imports, among files and among folders. A folder circle is a set of children of one
 * folder (files and folders, each with all its content counted as one) that import each other in a
 * circle. Circles that consist only of files are file circles and count once.
 */
import type { SourceFile } from './checkout.ts';

/** Each circle of files, sorted by path. */
export function fileCircles(sources: ReadonlyMap<string, SourceFile>): string[][] {
  return circlesOf(new Map([...sources].map(([path, { imports }]) => [path, imports])));
}

export interface FolderCircle {
  /** The folder whose children they are; empty for the root. */
  readonly folder: string;
  /** Names of the children, folders with a trailing `/`; sorted. */
  readonly children: readonly string[];
}

/** Each circle with at least one folder, at any level. */
export function folderCircles(sources: ReadonlyMap<string, SourceFile>): FolderCircle[] {
  const levels = new Map<string, Map<string, Set<string>>>();
  for (const { path, imports } of sources.values()) {
    for (const target of imports) {
      const { folder, from, to } = whereTheyPart(path, target);
      const level = levels.get(folder) ?? new Map<string, Set<string>>();
      levels.set(folder, level);
      level.set(from, (level.get(from) ?? new Set()).add(to));
      if (!level.has(to)) level.set(to, new Set());
    }
  }
  return [...levels]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([folder, level]) =>
      circlesOf(new Map([...level].map(([name, targets]) => [name, [...targets]])))
        .filter((children) => children.some((child) => child.endsWith('/')))
        .map((children) => ({ folder, children })),
    );
}

/** The deepest folder that contains both files, and its child that leads to each. */
function whereTheyPart(from: string, to: string): { folder: string; from: string; to: string } {
  const a = from.split('/');
  const b = to.split('/');
  let depth = 0;
  while (a[depth] === b[depth]) depth++;
  const child = (parts: readonly string[]): string =>
    `${parts[depth]}${depth < parts.length - 1 ? '/' : ''}`;
  return { folder: a.slice(0, depth).join('/'), from: child(a), to: child(b) };
}

/** Strongly connected sets of more than one node (Tarjan), each sorted, by their first member. */
export function circlesOf(graph: ReadonlyMap<string, readonly string[]>): string[][] {
  const order = new Map<string, number>();
  const stack: string[] = [];
  const open = new Set<string>();
  const circles: string[][] = [];
  const visit = (node: string): number => {
    let low = order.size;
    order.set(node, low);
    stack.push(node);
    open.add(node);
    for (const next of graph.get(node) ?? []) {
      if (!order.has(next)) low = Math.min(low, visit(next));
      else if (open.has(next)) low = Math.min(low, order.get(next) ?? low);
    }
    if (low !== order.get(node)) return low;
    const members = stack.splice(stack.lastIndexOf(node));
    for (const member of members) open.delete(member);
    if (members.length > 1) circles.push(members.sort());
    return low;
  };
  for (const node of graph.keys()) if (!order.has(node)) visit(node);
  return circles.sort(([a = ''], [b = '']) => (a < b ? -1 : 1));
}
