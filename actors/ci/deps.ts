/** What the decisions of keyless CI are given. */

import type { Clock } from '../../streams/platform/clock.ts';
import type { OnceStore } from '../../streams/platform/once-store.ts';
import type { Random } from '../../streams/platform/random.ts';
import type { Host } from '../platform/host/host-port.ts';
import type { AssertionChecks, ExchangeOutcome, PairingCodes, TokenSigner } from './port.ts';
import type { RefusalNotes } from './refusal-notes.ts';
import type { WrongCodes } from './wrong-codes.ts';

export interface KeylessCiDeps {
  readonly host: Host;
  readonly clock: Clock;
  readonly random: Random;
  readonly assertions: AssertionChecks;
  /** Where ids of assertions are burned. */
  readonly onceStore: OnceStore;
  readonly tokens: TokenSigner;
  readonly codes: PairingCodes;
  readonly notes: RefusalNotes;
  readonly wrongCodes: WrongCodes;
  readonly audienceOf: (project: string) => string;
  /** Told of every exchange what became of it. */
  readonly count: (outcome: ExchangeOutcome) => void;
  /** Called for each wrong pairing code, and each try of a source that is locked. */
  readonly countWrongCode: (outcome: 'WRONG' | 'LOCKED') => void;
}
