/** Texts of the pages of machines and their instances. */
import { localized } from '../../messages/localized.ts';

export const texts = localized({
  about:
    'Everything that the service decides, it decides as one of these machines. Each step of each instance is recorded.',
  version: (version: number) => `Version ${version}`,
  label: (machine: string, version: number) => `${machine}, version ${version}`,
  noLayout: 'The service sent no drawing of this machine.',
  noMachines: 'The service named no machine.',
  recent: 'Recent steps',
  allSteps: 'All steps of this machine',
  instance: 'Instance',
  event: 'Event',
  states: 'States after it',
  decided: 'Decided',
  by: 'By',
  noSteps: 'No instance of this machine has taken a step yet.',
  needs: (role: string) => `The steps of these instances need the role ${role}.`,
  allInstances: 'Show no instance',
  path: (instance: string) => `Path of ${instance}`,
});
