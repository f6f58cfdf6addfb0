/** Texts of the state machine pages. */
import { localized } from '../../messages/localized.ts';

export const texts = localized({
  about:
    'Every decision of the service is a step of one of these machines. Each step of each instance is recorded.',
  version: (version: number) => `Version ${version}`,
  label: (machine: string, version: number) => `${machine}, version ${version}`,
  noLayout: 'The service did not send a diagram of this machine.',
  noMachines: 'The service listed no machines.',
  recent: 'Recent steps',
  allSteps: 'All steps of this machine',
  instance: 'Instance',
  event: 'Event',
  states: 'Resulting states',
  decided: 'Decided',
  by: 'By',
  noSteps: 'No instance of this machine has taken a step yet.',
  needs: (role: string) => `Viewing the steps of these instances requires the role ${role}.`,
  allInstances: 'Hide the instance',
  path: (instance: string) => `Path of ${instance}`,
});
