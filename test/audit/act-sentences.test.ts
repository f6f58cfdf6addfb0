/** Every step that a person can cause has a sentence. */
import { test } from 'tap';
import { type MachineName, machineDefinitions } from '../../machines/audit/registry.ts';
import { actionPredicates } from '../../src/audit/api/act-sentences.ts';

/** Events that a machine accepts only from the service, or from programs that report to it. */
const OF_THE_SERVICE: Readonly<Partial<Record<MachineName, readonly string[]>>> = {
  alertRule: ['applied', 'applicationFailed', 'instanceLimitReached', 'instanceLimitEnded'],
  maintenanceWindow: ['begun', 'announced', 'completed'],
  destination: ['attemptFailed', 'attemptAccepted', 'attemptCapChanged', 'overlapEnded'],
  recipient: ['bounced'],
  ciVerification: ['proofSubmitted', 'wrongCodesSent', 'proofRefused'],
  ciConnection: ['exchanged', 'exchangeRefused'],
  membership: ['renamed'],
};

test('API-34: every event of a machine has a sentence or is the service’s own', async (t) => {
  for (const [name, predicates] of Object.entries(actionPredicates)) {
    if (name === 'alertInstance') continue;
    const { machine } = machineDefinitions.get(name) ?? { machine: { events: [] } };
    const taken = machine.events.filter((event: string) => !event.startsWith('xstate.'));
    const known = [...Object.keys(predicates), ...(OF_THE_SERVICE[name as MachineName] ?? [])];
    t.same(known.filter((event) => !event.startsWith('xstate.')).sort(), [...taken].sort(), name);
    t.ok(predicates['xstate.init'], `${name} has a sentence for its creation`);
  }
});
