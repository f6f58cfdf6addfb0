/** The link by which the first owner of the demo signs in: kept while it works, as demo.json has it. */

import {
  firstOwnerLink,
  hasAnybodySignedIn,
  isLinkOpen,
} from '../../actors/identity/first-owner.ts';
import type { Members } from '../../actors/identity/members.ts';
import type { People } from '../../actors/identity/people.ts';
import type { Host } from '../../actors/platform/host/host-port.ts';
import type { Clock } from '../../streams/platform/clock.ts';
import type { Actor } from '../../streams/platform/commit/commit.ts';
import { type Random, ulid } from '../../streams/platform/random.ts';
import { hashKey, parseSecret } from '../platform/keys.ts';
import { linkAddress } from '../platform/mail/letters.ts';

export interface FirstSignInDeps {
  readonly host: Host;
  readonly people: People;
  readonly members: Members;
  readonly clock: Clock;
  readonly random: Random;
}

/**
 * Address to open, to sign in as an owner of the project: the shown one while its link works, a new
 * one while nobody has ever signed in, else undefined. Throws what `Host.submit` throws.
 */
export async function firstSignInUrl(
  deps: FirstSignInDeps,
  asked: {
    readonly by: Actor;
    readonly project: string;
    readonly shown: string | undefined;
    readonly baseUrl: string;
  },
): Promise<string | undefined> {
  const { host, clock, random } = deps;
  const { by, project, shown = '', baseUrl } = asked;
  const token = shown.slice(shown.indexOf('#') + 1);
  const id = parseSecret('link', token);
  const link = id === undefined ? undefined : { id, hash: hashKey(token), nowMs: clock.now() };
  if (link && isLinkOpen(host, link)) return linkAddress(baseUrl, token);
  if (hasAnybodySignedIn(host)) return undefined;
  const newId = () => ulid(clock.now(), random);
  return linkAddress(baseUrl, (await firstOwnerLink({ ...deps, newId }, by, project)).token);
}
