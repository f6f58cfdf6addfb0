/** What an act of `svc admin` is: words of the command line, a route of the service, a text. */
import type { Input, Option, Positional } from './client/arguments.ts';

/** One thing the operator may ask for. */
export interface AdminAct {
  /** Words of the command line: `project create`. */
  readonly name: string;
  readonly summary: string;
  readonly positionals?: readonly Positional[];
  readonly options?: readonly Option[];
  /** true: it changes something, and so goes out under a request id. */
  readonly isChange?: boolean;
  /** What would do when the secret of an earlier answer is lost: of acts that make one. */
  readonly ifLost?: (answer: unknown) => string;
  /** Path of the service's route. */
  readonly path: string;
  /** true: it reads standard input to its end, where what must not be in an argument is. */
  readonly readsInput?: boolean;
  /**
   * What the route is asked with. Throws `UsageError`.
   *
   * @param text of standard input; '' where it is not read
   */
  readonly ask: (input: Input, text: string) => Readonly<Record<string, string>>;
  /** Renders the answer for people, with a final line end. The answer has the type of its route. */
  readonly render: (answer: unknown) => string;
}
