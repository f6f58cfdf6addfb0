/** Refused exchanges in tests: their answers, and their records. */
import type { RecordedTransition } from '../../streams/platform/commit/projection.ts';
import { type CiWorld, owner, PROJECT, refusalOf, type TestToken } from './keyless-ci-on-host.ts';

/** Fields that every change of a project needs. */
export const change = (world: CiWorld) => ({
  project: PROJECT,
  by: owner,
  request: world.request(),
});

/** The answer of a refused exchange. */
export async function denied(world: CiWorld, connection: string, token?: TestToken) {
  const assertion = world.assertion(token);
  const refusal = await refusalOf(world.ci.exchange({ project: PROJECT, connection, assertion }));
  await world.ci.settled();
  const { cause, correlation = '', claims = '[]' } = refusal?.metadata ?? {};
  const message = refusal?.message ?? '';
  return { reason: refusal?.reason, cause, correlation, message, claims: JSON.parse(claims) };
}

/** Recorded refusals of exchanges, oldest first. */
export function notesOf(world: CiWorld, connection: string): RecordedTransition['event'][] {
  const about = { machine: 'ciConnection', instance: connection, limit: 1000 };
  const { items } = world.host.view(PROJECT).transitions(about);
  return items.map(({ event }) => event).filter(({ type }) => type === 'exchangeRefused');
}
