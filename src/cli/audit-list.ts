/**
 * `svc audit list`: who did what in a project, newest first, for whoever may see it; an owner finds a
 * refused exchange by the correlation id in the error that the job got.
 */
import { create } from '@bufbuild/protobuf';
import {
  AuditService,
  ListTransitionsResponseSchema,
  type Transition,
} from '../gen/svc/audit/v1/audit_pb.ts';
import { type Action, type ActionContext, projectOption } from './client/action.ts';
import type { Api } from './client/api.ts';
import { EXIT_NOT_FOUND, Fault, UsageError } from './client/faults.ts';
import { projectName } from './client/names.ts';
import { json, messageJson } from './client/output.ts';
import { EXIT_OK } from './command.ts';
import { transitionTable } from './transition-table.ts';

const LIMIT_DEFAULT = 50;
const LIMIT_MAX = 10_000;
/** Rows of one answer. */
const PAGE = 1_000;
/** Rows that are looked at for a correlation id. */
const LOOKED_AT_MAX = 20_000;
/** The machine whose steps have a correlation id. */
const CORRELATED = 'ciConnection';

export const auditListAction: Action = {
  name: 'list',
  summary: 'Show who did what in a project, newest first',
  options: [
    projectOption,
    {
      name: 'instance',
      takes: 'NAME',
      help: 'Only this resource, such as serviceAccounts/ID or vms/ID',
    },
    { name: 'machine', takes: 'NAME', help: 'Only this machine, such as credential or membership' },
    { name: 'correlation', takes: 'ID', help: 'The refusals with this correlation id' },
    { name: 'since', takes: 'TIME', help: 'Committed at or after' },
    { name: 'until', takes: 'TIME', help: 'Committed at or before' },
    { name: 'by', takes: 'NAME', help: 'Caused by this one, as the list shows it' },
    { name: 'event', takes: 'NAME', multiple: true, help: 'Only this event' },
    { name: 'request', takes: 'ID', help: 'Decided by the request with this id' },
    { name: 'oldest-first', help: 'From the oldest on' },
    {
      name: 'limit',
      takes: 'N',
      help: `At most this many, 1 to ${LIMIT_MAX}; default ${LIMIT_DEFAULT}`,
    },
  ],
  notes: `Transitions of identities are shown only to owners of the project.
--correlation searches the newest ${LOOKED_AT_MAX} transitions: those of trusts, unless --machine
or --instance names others.`,
  async run(context) {
    const limit = limitOf(context);
    const api = context.api('person');
    const correlation = context.input.text('correlation');
    const instance = await instanceFilterOf(context, api, correlation !== undefined);
    const filter = { ...instance, ...stepFilter(context) };
    const transitions =
      correlation === undefined
        ? (await newest(api, filter, limit)).transitions
        : await correlated(api, filter, { correlation, limit });
    if (context.json) {
      const answer = create(ListTransitionsResponseSchema, { transitions });
      context.print(json(messageJson(ListTransitionsResponseSchema, answer)));
    } else {
      context.print(transitionTable(transitions, 'There are no matching transitions'));
    }
    return EXIT_OK;
  },
};

type Filter = InstanceFilter & ReturnType<typeof stepFilter>;

interface InstanceFilter {
  readonly projectName: string;
  readonly instanceName: string;
  readonly machine: string;
}

/** Which steps, whatever they are of. */
function stepFilter({ input }: ActionContext) {
  const [since, until] = [input.time('since'), input.time('until')];
  return {
    startTimeUnixMs: BigInt(since ?? 0) * 1000n,
    // The whole second.
    endTimeUnixMs: until === undefined ? 0n : BigInt(until) * 1000n + 999n,
    ...{ by: input.text('by') ?? '', events: [...input.list('event')] },
    ...{ requestId: input.text('request') ?? '', oldestFirst: input.isOn('oldest-first') },
  };
}

async function instanceFilterOf(
  context: ActionContext,
  api: Api,
  isCorrelated: boolean,
): Promise<InstanceFilter> {
  const { input } = context;
  const given = input.text('instance') ?? '';
  const machine = input.text('machine') ?? (isCorrelated && given === '' ? CORRELATED : '');
  const ofName = /^projects\/[^/]+(?=\/)/.exec(given)?.[0];
  if (ofName !== undefined) return { projectName: ofName, instanceName: given, machine };
  const project = await projectName(context, api);
  if (given !== '' && !given.includes('/')) {
    const what = JSON.stringify(given);
    throw new UsageError(`${what} lacks the collection: write for example serviceAccounts/ID`);
  }
  const instanceName = given === '' ? '' : `${project}/${given}`;
  return { projectName: project, instanceName, machine };
}

function limitOf({ input }: ActionContext): number {
  const limit = input.number('limit') ?? LIMIT_DEFAULT;
  if (Number.isInteger(limit) && limit >= 1 && limit <= LIMIT_MAX) return limit;
  throw new UsageError(`--limit is a whole number, 1 to ${LIMIT_MAX}`);
}

async function newest(api: Api, filter: Filter, limit: number) {
  const transitions: Transition[] = [];
  for (let pageToken = ''; transitions.length < limit; ) {
    const pageSize = Math.min(PAGE, limit - transitions.length);
    const page = { ...filter, pageSize, pageToken };
    const answer = await api.call(AuditService.method.listTransitions, page);
    transitions.push(...answer.transitions);
    pageToken = answer.nextPageToken;
    if (pageToken === '') return { transitions, isAll: true };
  }
  return { transitions, isAll: false };
}

/** Looked for here: the service keeps no index of it. Throws `Fault` when it is not found. */
async function correlated(
  api: Api,
  filter: Filter,
  { correlation, limit }: { readonly correlation: string; readonly limit: number },
): Promise<Transition[]> {
  const { transitions, isAll } = await newest(api, filter, LOOKED_AT_MAX);
  const found = transitions.filter(({ eventJson }) => correlationIn(eventJson) === correlation);
  if (found.length > 0) return found.slice(0, limit);
  const looked = `${isAll ? 'all' : 'the newest'} ${transitions.length} steps`;
  throw new Fault(
    `None of ${looked} in ${filter.projectName} has the correlation id ${correlation}`,
    {
      exitCode: EXIT_NOT_FOUND,
      hint: 'A refusal is recorded within a minute, and only if the trust exists: try again then',
    },
  );
}

function correlationIn(eventJson: string): unknown {
  const { correlation } = JSON.parse(eventJson) as { readonly correlation?: unknown };
  return correlation;
}
