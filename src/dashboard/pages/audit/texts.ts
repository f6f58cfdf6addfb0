/** Texts of the pages of machines and their instances. */
import { localized } from '../../messages/localized.ts';

export const texts = localized({
  about:
    'Everything that the service decides, it decides as one of these machines. Each step of each instance is recorded.',
  version: (version: number) => `Version ${version}`,
  label: (machine: string, version: number) => `${machine}, version ${version}`,
  labelOf: (machine: string, instance: string) => `${machine}: ${instance}`,
  noLayout: 'The service sent no drawing of this machine.',
  noMachines: 'The service named no machine.',
  recent: 'Recent steps',
  instance: 'Instance',
  event: 'Event',
  states: 'States after it',
  decided: 'Decided',
  observed: 'Observed',
  by: 'By',
  unnamed: 'no page of its own',
  noSteps: 'No instance of this machine has taken a step yet.',
  needs: (role: string) => `The steps of these instances need the role ${role}.`,
  allInstances: 'Show no instance',
  path: (instance: string) => `Path of ${instance}`,
  pathCut: 'The path is longer than what is shown here; these are its first steps.',
  noPath: 'Nothing is recorded of this instance.',
  notNamed: 'An instance is named as in the API, such as projects/p/alertRules/id.',
});
