/** A link to the page of a resource; its text alone where this version has no such page. */
import type { ComponentChildren, VNode } from 'preact';
import { matchPath } from '../../router/match.ts';

/** Path of the page that shows a resource, by its name; undefined: there is none. */
export function pathOfResource(name: string): string | undefined {
  const path = `/${name}`;
  return matchPath(path) && path;
}

export function ResourceLink(props: {
  readonly name: string;
  readonly children: ComponentChildren;
}): VNode {
  const path = pathOfResource(props.name);
  return path === undefined ? <span>{props.children}</span> : <a href={path}>{props.children}</a>;
}
