/**
 * A destination by name, as a link to its page. If it was deleted, or the role may not list
 * destinations, only its id is shown, without a link.
 */
import type { ComponentChildren, VNode } from 'preact';
import { idOf } from '../data/names.ts';
import { ResourceLink } from './resource-link.tsx';

/** A resource name, and the titles of the destinations that this role may list. */
export interface DestinationLinkProps {
  readonly name: string;
  /** Display names by resource name: `useDestinationTitles`. */
  readonly titles: ReadonlyMap<string, string>;
  /** Content that replaces the title, such as one of its recipients. */
  readonly children?: ComponentChildren;
}

/** A link if the destination is among `titles`, otherwise plain text. */
export function DestinationLink({ name, titles, children }: DestinationLinkProps): VNode {
  const title = titles.get(name);
  const text = children || title || idOf(name);
  return title === undefined ? (
    <span>{text}</span>
  ) : (
    <ResourceLink name={name}>{text}</ResourceLink>
  );
}
