/** What the parts of sign-in are given: `people.ts` puts them together. */
import type { Clock } from '../../streams/platform/clock.ts';
import type { Random } from '../../streams/platform/random.ts';
import type { Host } from '../platform/host/host-port.ts';
import type { Invitations } from './invitations.ts';
import type { SignInSecrets } from './sign-in-secrets.ts';

export interface PeopleDeps {
  readonly host: Host;
  readonly clock: Clock;
  readonly random: Random;
  readonly secrets: SignInSecrets;
  readonly invitations: Pick<Invitations, 'openFor' | 'accept' | 'revokeKeysOf' | 'noteName'>;
  /** When sessions were last seen, Unix ms; lossy. */
  readonly lastSeen: {
    note(session: string): void;
    of(session: string): number | undefined;
  };
  /** Told of work that nobody waits for and that failed. */
  readonly onFault: (what: string, error: unknown) => void;
}
