/**
 * A destination by name, as a link to its page. Where it is deleted, or the role may not list
 * destinations, its id is all that is known of it, and it leads nowhere.
 */
import type { ComponentChildren, VNode } from 'preact';
import { idOf } from '../data/names.ts';
import { ResourceLink } from './resource-link.tsx';

/** A resource name, and the titles of the destinations that this role may list. */
export interface DestinationLinkProps {
  readonly name: string;
  /** How destinations are called, by name: `useDestinationTitles`. */
  readonly titles: ReadonlyMap<string, string>;
  /** What is written in place of the title, such as one of its recipients. */
  readonly children?: ComponentChildren;
}

/** A link where the destination is among `titles`, plain text where it is not. */
export function DestinationLink({ name, titles, children }: DestinationLinkProps): VNode {
  const title = titles.get(name);
  const text = children || title || idOf(name);
  return title === undefined ? (
    <span>{text}</span>
  ) : (
    <ResourceLink name={name}>{text}</ResourceLink>
  );
}
