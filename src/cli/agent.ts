/**
 * `svc agent`: expanded monitoring from inside a guest. Enrols with a one-time token, runs, reports
 * how it is, installs the systemd unit, and forgets. The token comes from the environment or from
 * standard input, never from the command line, which every process of the machine can read.
 */

import { enrolAction } from './agent/enrol.ts';
import { installAction } from './agent/install.ts';
import { runAction } from './agent/run.ts';
import { statusAction, unenrolAction } from './agent/status.ts';
import { family } from './client/action.ts';

export const agentCommand = family(
  'agent',
  'Watch this VM from inside its guest',
  [enrolAction, installAction, runAction, statusAction, unenrolAction],
  `
The agent sends load, available memory, swap and running processes of this guest, which no hypervisor
can see, and nothing else. Enrol the VM in its project first: the answer has the token.
`,
);
