/** A page as used by the frame: a module with its component, loaded on first use. */
import type { ComponentType } from 'preact';
import type { PathParameters } from '../router/match.ts';
import type { PageName } from '../routes.ts';

export interface PageProps {
  /** Parameters of the path, by their names in routes.ts. */
  readonly parameters: PathParameters;
}

export type PageComponent = ComponentType<PageProps>;

/** The module of one page, or of several pages, each under its own name. */
export type PageModule<Name extends PageName> =
  | { readonly Page: PageComponent }
  | { readonly [Of in Name]: PageComponent };
