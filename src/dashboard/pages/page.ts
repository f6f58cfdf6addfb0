/** A page, as the frame uses it: a module with one component, loaded when it is first opened. */
import type { ComponentType } from 'preact';
import type { PathParameters } from '../router/match.ts';

export interface PageProps {
  /** Of the path, by the names in routes.ts. */
  readonly parameters: PathParameters;
}

export interface PageModule {
  readonly Page: ComponentType<PageProps>;
}
