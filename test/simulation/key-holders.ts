/**
 * The holders of a project's keys: programs that present a key to any member now and then, and
 * people who create and revoke keys. After a revocation is acknowledged, the key is presented to
 * every member at random moments; a member that accepts it violates the guarantee. A member may
 * still refuse to answer.
 */
import type { KeyOwner } from '../../actors/identity/grants.ts';
import { Refusal } from '../../streams/platform/refusal.ts';
import type { Cluster } from './cluster.ts';
import type { Dice } from './dice.ts';
import type { Member } from './member.ts';
import type { Problem } from './oracle/problem.ts';
import type { Doors } from './process.ts';
import type { World } from './world.ts';

const PATIENCE_MS = 12_000;
const TRIES_MAX = 8;
/** How many times a revoked key is presented within this time. */
const SHOWN_TIMES = 6;
const SHOWN_MS = 40_000;

export class KeyHolders {
  readonly problems: Problem[] = [];
  /** Number of acknowledged revocations. */
  revoked = 0;
  /** Number of accepted keys in use. */
  accepted = 0;
  readonly #world: World;
  readonly #cluster: Cluster;
  readonly #project: string;
  readonly #dice: Dice;
  #requests = 0;
  #isOver = false;

  constructor(world: World, cluster: Cluster, project: string) {
    this.#world = world;
    this.#cluster = cluster;
    this.#project = project;
    this.#dice = world.dice.fork(`keys of ${project}`);
  }

  start(): void {
    void this.#live();
  }

  /** Stops new actions. */
  rest(): void {
    this.#isOver = true;
  }

  async #live(): Promise<void> {
    const world = this.#world;
    await world.wait(this.#dice.between(1_000, 30_000));
    const account = await this.#requested('account', ({ accounts }, caller) =>
      accounts.create({
        ...caller,
        displayName: 'Program',
        template: 'alert-manager',
        capabilities: [],
      }),
    );
    if (!account) return;
    const owner = {
      project: this.#project,
      machine: 'serviceAccount',
      id: account.answer.account,
    } as const;
    while (!this.#isOver) {
      await this.#oneKey(owner);
      await world.wait(
        this.#dice.between(5_000, this.#cluster.members.length > 1 ? 60_000 : 600_000),
      );
    }
  }

  /** A key from creation to end. */
  async #oneKey(owner: KeyOwner): Promise<void> {
    const world = this.#world;
    const made = await this.#requested('key', ({ keys }, caller) =>
      keys.create({
        ...caller,
        owner,
        displayName: 'Key',
        lifetimeMs: undefined,
        capabilities: ['monitoring.read'],
      }),
    );
    // The answer with the secret was lost.
    if (!made || made.secret === null) return;
    const { secret, key } = made;
    for (let i = 0; i < 3; i++) {
      await world.wait(this.#dice.between(100, 10_000));
      const isAccepted = await this.#show(secret, this.#dice.pick(this.#cluster.members));
      if (isAccepted) this.accepted++;
    }
    const revocation = await this.#requested('revocation', ({ keys }, caller) =>
      keys.revoke({ ...caller, owner, key, reason: 'Lost' }),
    );
    if (!revocation) return;
    this.revoked++;
    const { elapsedMs } = world;
    world.trace(() => `the revocation of ${key} is acknowledged`);
    for (const member of this.#cluster.members) {
      for (let i = 0; i < SHOWN_TIMES; i++) {
        // Mostly soon after: that is when members differ.
        const afterMs = this.#dice.pick([5, 500, 5_000, SHOWN_MS]) * this.#dice.roll();
        world.in(afterMs, () => void this.#showRevoked({ secret, key }, elapsedMs, member));
      }
    }
  }

  async #showRevoked(
    { secret, key }: { readonly secret: string; readonly key: string },
    revokedMs: number,
    member: Member,
  ): Promise<void> {
    if (!(await this.#show(secret, member))) return;
    const { elapsedMs: atMs } = this.#world;
    const text = `${member.name} accepts ${key} ${Math.round(atMs - revokedMs)} ms after its revocation`;
    this.problems.push({ invariant: 'a revoked key is refused everywhere', text, atMs });
  }

  async #show(secret: string, member: Member): Promise<boolean> {
    const ask = async ({ authenticator }: Doors): Promise<boolean> => {
      try {
        authenticator.authenticateKey(`Bearer ${secret}`);
        return true;
      } catch (error) {
        if (error instanceof Refusal) return false;
        throw error;
      }
    };
    const answer = await this.#cluster.ask(ask, PATIENCE_MS, member);
    return answer.kind === 'answered' && answer.value;
  }

  /** Asks any member, and repeats the same request if it gets no answer. */
  async #requested<T>(
    what: string,
    ask: (doors: Doors, caller: Caller) => Promise<T>,
  ): Promise<T | undefined> {
    const id = `${what}-${++this.#requests}`;
    const project = this.#project;
    const request = { scope: `${project}/keys`, id, fingerprint: what };
    const by = { kind: 'human', name: `users/${project}-keys` } as const;
    for (let tries = 0; tries < TRIES_MAX && !this.#isOver; tries++) {
      const answer = await this.#cluster.ask(
        (doors) => ask(doors, { project, by, request }),
        PATIENCE_MS,
      );
      if (answer.kind === 'answered') return answer.value;
      if (answer.kind === 'refused') {
        this.#world.trace(() => `${id} is refused: ${answer.refusal.message}`);
        return undefined;
      }
      await this.#world.wait(this.#dice.between(500, 5_000));
    }
    return undefined;
  }
}

interface Caller {
  readonly project: string;
  readonly by: { readonly kind: 'human'; readonly name: string };
  readonly request: { readonly scope: string; readonly id: string; readonly fingerprint: string };
}
