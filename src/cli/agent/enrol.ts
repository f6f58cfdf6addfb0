/** `svc agent enrol`: a one-time token for a key of this VM, which is kept for the agent alone. */
import { readFileSync, rmSync } from 'node:fs';
import { release } from 'node:os';
import { AutomationService } from '../../gen/svc/iam/v1/automation_pb.ts';
import { parseSecret } from '../../platform/keys.ts';
import { bufferFolder } from '../../vms/agent/agent.ts';
import {
  EnrolmentUnusable,
  prepareFolder,
  readEnrolment,
  type StoredEnrolment,
  thisMachine,
  writeEnrolment,
} from '../../vms/agent/enrolment-file.ts';
import type { Action, ActionContext } from '../client/action.ts';
import { Fault, NoAnswer, UsageError } from '../client/faults.ts';
import { facts, json, localTime } from '../client/output.ts';
import { EXIT_OK } from '../command.ts';
import { folderOf, folderOption } from './folder.ts';

export const enrolAction: Action = {
  name: 'enrol',
  summary: 'Enrol this VM: the token is read from SVC_ENROLMENT_TOKEN or standard input',
  options: [folderOption],
  notes: `
The token is used up by this. Without an answer it may be: enrol the VM again for another one.
The agent that was enrolled before stops being accepted once this one is.
`,
  async run(context) {
    const folder = folderOf(context);
    const token = await readToken(context);
    makeWritable(folder);
    const enrolment = await exchange(context, token);
    forgetOtherVm(folder, enrolment, context.report);
    writeEnrolment(folder, enrolment);
    const { key: _, machine: __, ...shown } = enrolment;
    if (context.json) context.print(json({ ...shown, folder }));
    else context.print(enrolledText(shown, folder));
    return EXIT_OK;
  },
};

async function readToken({ environment, ports }: ActionContext): Promise<string> {
  const given = environment.SVC_ENROLMENT_TOKEN?.trim();
  const asked = () => (ports.isInteractive ? ports.ask('Enrolment token: ') : ports.readInput());
  const token = given || (await asked()).trim();
  if (token === '') {
    const hint = 'Put it into SVC_ENROLMENT_TOKEN, or write it to standard input';
    throw new UsageError('The enrolment token is missing', hint);
  }
  if (parseSecret('enrol', token) !== undefined) return token;
  const hint = 'Check that it was copied whole, from svc_enrol_ to its end';
  throw new Fault('This is not an enrolment token: its form or its checksum is wrong', { hint });
}

/** Before the token is used up. */
function makeWritable(folder: string): void {
  try {
    prepareFolder(folder);
  } catch (error) {
    const cause = error instanceof Error ? error.message : String(error);
    throw new Fault(`${folder} cannot be written: ${cause}`, {
      hint: 'Run this as root, or name another folder with --state',
    });
  }
}

async function exchange(context: ActionContext, enrolmentToken: string): Promise<StoredEnrolment> {
  const api = context.api('nobody');
  try {
    const request = { enrolmentToken, system: describeSystem() };
    const answer = await api.call(AutomationService.method.enrolAgent, request);
    const { projectName, vmName, key, expiresUnix } = answer;
    return {
      ...{ endpoint: api.access.endpoint, projectName, vmName, key },
      ...{ expiresUnix: Number(expiresUnix), machine: thisMachine() },
    };
  } catch (error) {
    if (!(error instanceof NoAnswer)) throw error;
    const hint = 'The token may be used up: if it is refused next time, enrol the VM again';
    throw new NoAnswer(error.message, hint);
  }
}

/** Rows that wait are of the VM that this one was enrolled as: another's would be refused. */
function forgetOtherVm(
  folder: string,
  { vmName }: StoredEnrolment,
  report: (line: string) => void,
): void {
  try {
    if (readEnrolment(folder).vmName === vmName) return;
  } catch (error) {
    if (!(error instanceof EnrolmentUnusable)) throw error;
  }
  rmSync(bufferFolder(folder), { recursive: true, force: true });
  report(`This machine sends as ${vmName} from now on`);
}

/** Image and kernel, for whoever looks at the enrolment. */
function describeSystem(): string {
  let image = 'Linux';
  try {
    const [, name] =
      /^PRETTY_NAME="?([^"\n]*)"?$/m.exec(readFileSync('/etc/os-release', 'utf8')) ?? [];
    image = name || image;
  } catch {
    // An image without the file is still a Linux.
  }
  return `${image}, Linux ${release()}`;
}

function enrolledText(
  { endpoint, vmName, expiresUnix }: Pick<StoredEnrolment, 'endpoint' | 'vmName' | 'expiresUnix'>,
  folder: string,
): string {
  return facts([
    ['VM', vmName],
    ['service', endpoint],
    ['key until', localTime(expiresUnix)],
    ['kept in', folder],
  ]);
}
