/** Where the agent keeps its things, as every action of `svc agent` finds it. */
import type { ActionContext } from '../client/action.ts';
import type { Option } from '../client/arguments.ts';

const FOLDER = '/var/lib/svc-agent';

export const folderOption: Option = {
  name: 'state',
  takes: 'FOLDER',
  help: `Where enrolment and buffer lie; else SVC_AGENT_STATE, or ${FOLDER}`,
};

/** The agent's folder; under systemd the one that the unit was given. */
export function folderOf({ input, environment }: ActionContext): string {
  const { STATE_DIRECTORY, SVC_AGENT_STATE } = environment;
  // Several folders are separated by colons; the unit has one.
  const given = STATE_DIRECTORY?.split(':')[0];
  return input.text('state') || SVC_AGENT_STATE || given || FOLDER;
}
