/**
 * A link to the page of a resource, or plain text if this version has no such page or the role may
 * not open it.
 */
import type { ComponentChildren, VNode } from 'preact';
import { mayDo } from '../data/projects.ts';
import { matchPath } from '../router/match.ts';

/** Path of the page of a resource, by name; undefined if absent for this role. */
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
