/**
 * The check of the plan: imports go down the floors and, within a floor, only to rooms named
 * earlier in rooms.ts; there is no circle of files (types count) or folders; nothing is outside of
 * a room.
 */
import { type Checkout, floors, type SourceFile } from './checkout.ts';
import { fileCircles, folderCircles } from './circles.ts';
import { order, roomOf } from './rooms.ts';

/** One line for each file or import that is out of place; empty if all follow the plan. */
export function placeFindings(
  { paths, sources }: Checkout,
  plan: readonly string[] = order,
): string[] {
  return [
    ...roomFindings(paths, plan),
    ...[...sources.values()].flatMap((file) => importFindings(file, plan)),
  ];
}

/** One line for each circle, followed by a few imports for each pair of its members. */
export function circleFindings({ sources }: Checkout): string[] {
  return [
    ...fileCircles(sources).map((files) => `circle of files: ${files.join(', ')}`),
    ...folderCircles(sources).flatMap(({ folder, children }) => [
      `circle in ${folder === '' ? 'the root' : folder}: ${children.join(', ')}`,
      // Between rooms, the imports against their order already report it.
      ...(folder.includes('/')
        ? importsBetween(sources, folder, children).map((line) => `  ${line}`)
        : []),
    ]),
  ];
}

function roomFindings(paths: readonly string[], plan: readonly string[]): string[] {
  const findings = new Set<string>();
  const used = new Set<string>();
  for (const path of paths) {
    const floor = floors.find((name) => path.startsWith(`${name}/`));
    if (floor === undefined || path.endsWith('.md')) continue;
    const room = roomOf(path);
    used.add(room);
    if (plan.includes(room)) continue;
    if (path === `${floor}/${room}`) findings.add(`${path} is in no room: move it into one`);
    else findings.add(`${floor}/${room} is not a room of scripts/house/rooms.ts: move its files`);
  }
  const empty = plan.filter((room) => !used.has(room));
  return [...findings, ...empty.map((room) => `${room} is declared but is on no floor`)];
}

function importFindings(file: SourceFile, plan: readonly string[]): string[] {
  return file.imports.flatMap((target) => {
    const line = `${file.path} imports ${target}`;
    const up = floorNumber(target) - floorNumber(file.path);
    if (up > 0) return [`${line}: imports go down, from ${floors.toReversed().join(' to ')}`];
    const [from, to] = [roomOf(file.path), roomOf(target)];
    const isLater = plan.includes(from) && plan.indexOf(to) > plan.indexOf(from);
    return up === 0 && isLater ? [`${line}: ${to} comes after ${from} in the order of rooms`] : [];
  });
}

function floorNumber(path: string): number {
  return floors.findIndex((floor) => path.startsWith(`${floor}/`));
}

const IMPORTS_SHOWN_MAX = 3;

/** Imports among the children of a circle, a few for each pair, as starting points. */
function importsBetween(
  sources: ReadonlyMap<string, SourceFile>,
  folder: string,
  children: readonly string[],
): string[] {
  const childOf = (path: string) =>
    children.find((child) => {
      const whole = folder === '' ? child : `${folder}/${child}`;
      return child.endsWith('/') ? path.startsWith(whole) : path === whole;
    });
  const pairs = new Map<string, string[]>();
  for (const { path, imports } of sources.values()) {
    const from = childOf(path);
    if (from === undefined) continue;
    for (const target of imports) {
      const to = childOf(target);
      if (to === undefined || to === from) continue;
      const key = `${from} uses ${to}`;
      pairs.set(key, [...(pairs.get(key) ?? []), `${path} imports ${target}`]);
    }
  }
  return [...pairs].map(
    ([pair, lines]) =>
      `${pair}: ${lines.slice(0, IMPORTS_SHOWN_MAX).join('; ')}${
        lines.length > IMPORTS_SHOWN_MAX ? `; ${lines.length - IMPORTS_SHOWN_MAX} more` : ''
      }`,
  );
}
