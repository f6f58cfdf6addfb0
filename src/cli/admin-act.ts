/** What an act of `svc admin` is: words of the command line, a route of the service, a text. */
import type { Input, Option, Positional } from './client/arguments.ts';

/** One thing the operator may ask for. */
export interface AdminAct {
  /** Words of the command line: `project create`. */
  readonly name: string;
  readonly summary: string;
  readonly positionals?: readonly Positional[];
  readonly options?: readonly Option[];
  /** Path of the service's route. */
  readonly path: string;
  /** What the route is asked with. Throws `UsageError`. */
  readonly ask: (input: Input) => Readonly<Record<string, string>>;
  /** The answer for people, ending with a line end. It is of the type that the route tells. */
  readonly tell: (answer: unknown) => string;
}
