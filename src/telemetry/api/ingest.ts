/**
 * `IngestService`: turns the rows of a request into rows of ingest. Parts that cannot be stored are
 * rejected one by one: for their form here, for their content in ingest.
 */
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect';
import type { Host } from '../../../actors/platform/host/host-port.ts';
import type { IngestRates } from '../../../actors/telemetry/ingest/ingest-limits.ts';
import type { Ingest } from '../../../actors/telemetry/ingest/ingest-port.ts';
import type { SenderReach } from '../../../actors/vms/sent-row.ts';
import { RETIRE_MAX, retireVms } from '../../../actors/vms/vm-retirement.ts';
import type { VmSources } from '../../../actors/vms/vm-sources.ts';
import { SYSTEM_PROJECT } from '../../../streams/platform/commit/commit.ts';
import { invalidField, Refusal } from '../../../streams/platform/refusal.ts';
import {
  type IngestService,
  type RetireVmsRequest,
  RetireVmsRequestSchema,
} from '../../gen/svc/ingest/v1/ingest_pb.ts';
import type { CredentialPrincipal } from '../../platform/access/principal.ts';
import { credentialOf, requestKeyOf, within } from '../../platform/api/caller.ts';
import { nameOf, parseProjectName } from '../../platform/api/resource-name.ts';
import { slotOf } from '../../platform/api/slots.ts';
import {
  SCHEMA_VERSION_HEADER,
  schemaVersion,
  VALUES_EXPLICIT_FROM,
} from '../../platform/http/schema-version.ts';
import { type Positions, SEQUENCE_HEADER } from '../../platform/http/sequence.ts';
import { sentRows, vmIdOf, wholeRows } from './sent-rows.ts';
import { answerMessage } from './write-samples-answer.ts';
import { readRowsOf } from './write-samples-body.ts';

/** Maximum length of a request's `batchId`, characters, on the full and the fast path alike. */
export const BATCH_ID_LENGTH_MAX = 128;
/**
 * The RPCs of the service. `write-samples-fast.ts` handles plain binary `WriteSamples` before they
 * arrive here.
 */
export function ingestService({
  ingest,
  host,
  ingestRates,
  positions,
  sources,
}: {
  readonly ingest: Ingest;
  readonly ingestRates: Pick<IngestRates, 'checkBytes' | 'spendBytes'>;
  readonly host: Pick<Host, 'view' | 'submit'>;
  readonly positions: Pick<Positions, 'afterWrite'>;
  readonly sources: Pick<VmSources, 'isOthers'>;
}): ServiceImpl<typeof IngestService> {
  return {
    async writeSamples(request, context) {
      const project = within(context, parseProjectName('projectName', request.projectName));
      const sender = credentialOf(context);
      if (writesAnywhere(sender)) {
        if (!projectExists(host, project)) throw noProject(project);
        // Only the message names the project whose rate its bytes count against.
        takeBodyBytes(ingestRates, project, slotOf(context.values)?.bodyBytes ?? 0);
      }
      checkText('batchId', request.batchId, BATCH_ID_LENGTH_MAX);
      const version = schemaVersion(context.requestHeader.get(SCHEMA_VERSION_HEADER));
      const read = readRowsOf(context.values) ?? wholeRows(request.rows);
      const sent = sentRows(read, { project, needsValues: version >= VALUES_EXPLICIT_FROM });
      const { rows, indexes, rejected, leftOut } = sent;
      const answer = await ingest.write({
        project,
        reach: reachOf(sender),
        batchId: request.batchId,
        rows,
        ...(indexes && { indexes, rejected }),
        ...(leftOut && { leftOut }),
      });
      context.responseHeader.set(SEQUENCE_HEADER, positions.afterWrite(answer.sequence));
      return answerMessage(answer, sent);
    },
    retireVms: (request, context) => retire({ host, sources }, request, context),
  };
}

/** A collector retires only VMs that it reports, in its own data center, as with their samples. */
async function retire(
  {
    host,
    sources,
  }: {
    readonly host: Pick<Host, 'view' | 'submit'>;
    readonly sources: Pick<VmSources, 'isOthers'>;
  },
  request: RetireVmsRequest,
  context: HandlerContext,
) {
  const project = within(context, parseProjectName('projectName', request.projectName));
  const sender = credentialOf(context);
  const { name, datacenter } = sender;
  if (sender.kind === 'vm') {
    const message = "An agent's key reports one VM from inside that VM and cannot retire any VM";
    throw new Refusal('MISSING_CAPABILITY', message);
  }
  if (writesAnywhere(sender) && !projectExists(host, project)) throw noProject(project);
  const { vmNames } = request;
  if (vmNames.length === 0 || vmNames.length > RETIRE_MAX) {
    throw invalidValue('vmNames', `has ${vmNames.length} names: send 1 to ${RETIRE_MAX}`);
  }
  const ids = new Map<string, string>();
  const nameless: string[] = [];
  for (const [i, vm] of vmNames.entries()) {
    const id = vmIdOf(project, vm, `vmNames[${i}]`);
    if (id === undefined) nameless.push(vm);
    else ids.set(id, vm);
  }
  const { answer } = await retireVms(host, {
    project,
    vms: [...ids.keys()],
    by: { kind: 'collector' as const, name },
    request: requestKeyOf(context, RetireVmsRequestSchema, request),
    ...(datacenter !== null && { datacenter }),
    sender: { name, sources },
  });
  const refused = answer.refused.map(({ vm, reason }) => ({ vmName: ids.get(vm) ?? vm, reason }));
  return {
    retiredVmNames: answer.retired.map((vm) => nameOf(project, 'vms', vm)),
    refused: [...nameless.map((vmName) => ({ vmName, reason: 'UNKNOWN_VM' })), ...refused],
  };
}

function noProject(project: string): Refusal {
  return new Refusal('NOT_FOUND', `There is no project ${project}: create it with "svc admin"`);
}

function checkText(field: string, text: string, lengthMax: number): void {
  if (text.length > lengthMax) {
    throw invalidValue(field, `has ${text.length} characters: send at most ${lengthMax}`);
  }
}

function invalidValue(field: string, rest: string): Refusal {
  return invalidField(field, `${field} ${rest}`);
}

// The projects and machines that a credential may write to. Both paths use it: the RPC framework
// here and the binary handler before it.

/** The machines that a credential reports. */
export function reachOf({ name, kind, datacenter, vm }: CredentialPrincipal): SenderReach {
  // An agent's key without a VM would be a bug of this program: it then reports no VM, rather than
  // any.
  return { name, datacenter, vm: kind === 'vm' ? (vm ?? '') : null };
}

/** True for a collector of the service, which names the project it writes to. */
export function writesAnywhere({ kind, project }: CredentialPrincipal): boolean {
  return kind === 'col' && project === SYSTEM_PROJECT;
}

/**
 * Counts bytes of a body against the project's rate. Throws a `Refusal` TOO_MANY_REQUESTS and then
 * counts nothing.
 */
export function takeBodyBytes(
  ingestRates: Pick<IngestRates, 'checkBytes' | 'spendBytes'>,
  project: string,
  bytes: number,
): void {
  ingestRates.checkBytes(project, bytes);
  ingestRates.spendBytes(project, bytes);
}

/** True if the project was created. A collector for all projects must not create one by writing. */
export function projectExists(host: Pick<Host, 'view'>, project: string): boolean {
  return host.view(project).record('project', project) !== undefined;
}
