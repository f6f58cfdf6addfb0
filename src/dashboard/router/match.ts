/** The page of a path, and the path of a page: pure functions on the route table. */
import { type PageName, type Route, routes } from '../routes.ts';

export type PathParameters = Readonly<Record<string, string>>;

export interface Match {
  readonly route: Route & { readonly page: PageName };
  /** Decoded values of the segments with a colon. */
  readonly parameters: PathParameters;
}

/** Undefined if the dashboard has no such page. */
export function matchPath(path: string): Match | undefined {
  const given = path.split('/');
  for (const route of routes) {
    const parameters = parametersOf(route.path.split('/'), given);
    if (parameters) return { route, parameters };
  }
  return undefined;
}

function parametersOf(
  pattern: readonly string[],
  given: readonly string[],
): PathParameters | undefined {
  if (pattern.length !== given.length) return undefined;
  const parameters: Record<string, string> = {};
  for (const [i, part] of pattern.entries()) {
    const segment = given[i] ?? '';
    if (!part.startsWith(':')) {
      if (part !== segment) return undefined;
      continue;
    }
    const value = decoded(segment);
    if (value === undefined || value === '') return undefined;
    parameters[part.slice(1)] = value;
  }
  return parameters;
}

/** Undefined if a percent sign is not followed by a byte. */
function decoded(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}

/** The path of a page, or undefined if this version does not have it. */
export function pathIfAny(page: string, parameters: PathParameters = {}): string | undefined {
  const route = routes.find((one) => one.page === page);
  return route && pathOf(route.page, parameters);
}

/**
 * The path of a page. Throws if a parameter of its route is missing, which is a bug in the caller.
 */
export function pathOf(page: PageName, parameters: PathParameters = {}): string {
  const route = routes.find((one) => one.page === page);
  const segments = (route?.path ?? '').split('/').map((part) => {
    if (!part.startsWith(':')) return part;
    const value = parameters[part.slice(1)];
    if (value === undefined) throw new Error(`The path of ${page} needs ${part.slice(1)}`);
    return encodeURIComponent(value);
  });
  return segments.join('/');
}
