/**
 * `svc vms`: expanded monitoring of single VMs, for people: creating and ending a one-time token
 * for the agent inside a guest. The agent uses the token in `svc agent`.
 */
import {
  EnrolVmResponseSchema,
  ProjectService,
  UnenrolVmResponseSchema,
} from '../gen/svc/project/v1/project_pb.ts';
import { type Action, family, projectOption, requestIdOption } from './client/action.ts';
import { requestId, resourceName } from './client/names.ts';
import { printSecret, reportRequest } from './client/once.ts';
import { facts, messageDocument } from './client/output.ts';
import { localTime } from './client/texts.ts';
import { EXIT_OK } from './command.ts';

const { method } = ProjectService;
const positionals = [{ name: 'VM' }] as const;

const enrolAction: Action = {
  name: 'enrol',
  summary: 'Offer expanded monitoring of a VM; prints a one-time token for its agent',
  positionals,
  options: [
    {
      name: 'datacenter',
      takes: 'NAME',
      help: 'Data center of the VM; required if the VM is not known yet',
    },
    projectOption,
    requestIdOption,
  ],
  notes: `
VM is the id or full name of a listed VM, or the UUID that a new VM will have. The token works
once, within 24 hours. An existing agent keeps working until the next one is enrolled.
`,
  async run(context) {
    const api = context.api('person');
    const datacenter = context.input.text('datacenter') ?? '';
    const vmName = await resourceName(context, api, {
      collection: 'vms',
      given: context.input.positional(0),
      takesUnknown: datacenter !== '',
    });
    const id = requestId(context);
    reportRequest(context, 'Creating the token', id);
    const answer = await api.call(method.enrolVm, { vmName, requestId: id, datacenter });
    const { enrolmentToken: secret, secretAvailable } = answer;
    return printSecret(
      context,
      { secret, secretAvailable },
      {
        about: facts([
          ['VM', vmName],
          ['until', localTime(answer.expiresUnix)],
          ['in the guest', answer.installCommand],
        ]),
        document: () => messageDocument(EnrolVmResponseSchema, answer),
        ifLost: 'Enrol the VM again with a new request id. The lost token then stops working.',
      },
    );
  },
};

const unenrolAction: Action = {
  name: 'unenrol',
  summary: 'End expanded monitoring of a VM: the key of its agent stops working at once',
  positionals,
  options: [projectOption, requestIdOption],
  async run(context) {
    const api = context.api('person');
    const vmName = await resourceName(context, api, {
      collection: 'vms',
      given: context.input.positional(0),
      // An enrolled VM that has not reported yet is in no list; the service rejects any other.
      takesUnknown: true,
    });
    const answer = await api.call(method.unenrolVm, { vmName, requestId: requestId(context) });
    if (context.json) context.print(messageDocument(UnenrolVmResponseSchema, answer));
    else context.report(`Expanded monitoring of ${vmName} is off`);
    return EXIT_OK;
  },
};

export const vmsCommand = family('vms', 'Expanded monitoring of single VMs', [
  enrolAction,
  unenrolAction,
]);
