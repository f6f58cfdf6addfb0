/**
 * A link to the page of a resource; its text alone where this version has no such page, or the role
 * may not open it.
 */
import type { ComponentChildren, VNode } from 'preact';
import { mayDo } from '../data/projects.ts';
import { matchPath } from '../router/match.ts';

/** Path of the page that shows a resource, by its name; undefined: there is none for this role. */
export function pathOfResource(name: string): string | undefined {
  const path = `/${name}`;
  const match = matchPath(path);
  return match && mayDo(match.route.role) ? path : undefined;
}

export function ResourceLink(props: {
  readonly name: string;
  readonly children: ComponentChildren;
}): VNode {
  const path = pathOfResource(props.name);
  return path === undefined ? <span>{props.children}</span> : <a href={path}>{props.children}</a>;
}
