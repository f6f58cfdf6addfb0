/**
 * Service accounts and keys over the API: a signed-in owner, calls of AutomationService by any
 * caller, and a check that a secret gives access.
 */
import { randomUUID } from 'node:crypto';
import type { Test } from 'tap';
import { type Answer, startRpcWorld } from './api-in-process.ts';
import type { SignedIn } from './identities.ts';

export const PROJECT = 'projects/demo';
export const DAY = 86_400;

/** A world with a signed-in owner, and calls of this service by any caller. */
export async function startKeysWorld(t: Test) {
  const world = await startRpcWorld(t);
  const owner = await world.signedInAs('demo', 'OWNER');
  const as =
    (person: SignedIn) =>
    (
      method: string,
      request: object,
      { requestId = String(randomUUID()) } = {},
    ): Promise<Answer> => {
      const isRead = /^(List|Get)/.test(method);
      const path = `/svc.iam.v1.AutomationService/${method}`;
      const body = JSON.stringify({ ...request, ...(isRead ? {} : { requestId }) });
      return world.send(path, body, { person });
    };
  const call = as(owner);
  const account = async (fields: object = { template: 'alert-manager' }): Promise<string> => {
    const answer = await call('CreateServiceAccount', {
      projectName: PROJECT,
      displayName: 'Robot',
      ...fields,
    });
    t.equal(answer.status, 200, JSON.stringify(answer.body));
    return answer.body.name;
  };
  const key = async (parent: string, fields: object = {}): Promise<Answer> =>
    call('CreateKey', { parent, displayName: 'k', capabilities: ['monitoring.read'], ...fields });
  /** Makes a request with this key. Resolves with the reason if it fails. */
  const reads = async (secret: string): Promise<string> => {
    const request = JSON.stringify({ projectName: PROJECT, inventoryOnly: true });
    const answer = await world.send(
      '/svc.monitoring.v1.MonitoringService/ListVMMonitoring',
      request,
      {
        key: secret,
      },
    );
    return answer.status === 200 ? 'accepted' : (answer.reason ?? String(answer.status));
  };
  return { ...world, owner, as, call, account, key, reads };
}
