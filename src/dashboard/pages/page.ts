/** A page, as the frame uses it: a module with its component, loaded when it is first opened. */
import type { ComponentType } from 'preact';
import type { PathParameters } from '../router/match.ts';
import type { PageName } from '../routes.ts';

export interface PageProps {
  /** Of the path, by the names in routes.ts. */
  readonly parameters: PathParameters;
}

export type PageComponent = ComponentType<PageProps>;

/** The module of one page, or of several: then each page has its own name. */
export type PageModule<Name extends PageName> =
  | { readonly Page: PageComponent }
  | { readonly [Of in Name]: PageComponent };
