/**
 * `IngestService`: turns the rows of a message into rows of ingest. A row that cannot be read
 * refuses the request with its index. Ingest refuses readings that cannot be true, one by one.
 */
import { Buffer } from 'node:buffer';
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect';
import type { Host } from '../../../actors/platform/host/host-port.ts';
import { asOneLine } from '../../../actors/platform/plain-text.ts';
import type { IngestRates } from '../../../actors/telemetry/ingest/ingest-limits.ts';
import type { Ingest } from '../../../actors/telemetry/ingest/ingest-port.ts';
import type { IngestRow, SenderReach } from '../../../actors/vms/sent-row.ts';
import { RETIRE_MAX, retireVms } from '../../../actors/vms/vm-retirement.ts';
import type { VmSources } from '../../../actors/vms/vm-sources.ts';
import { SYSTEM_PROJECT } from '../../../streams/platform/commit/commit.ts';
import { invalidField, Refusal } from '../../../streams/platform/refusal.ts';
import {
  isFreeLabelName,
  type SeriesKey,
  seriesKey,
  VM_STATES,
} from '../../../streams/telemetry/samples/batch.ts';
import {
  type IngestService,
  type RetireVmsRequest,
  RetireVmsRequestSchema,
  type Row,
  Row_State,
  type Value,
} from '../../gen/svc/ingest/v1/ingest_pb.ts';
import type { CredentialPrincipal } from '../../platform/access/principal.ts';
import { credentialOf, requestKeyOf, within } from '../../platform/api/caller.ts';
import { ID, nameOf, parseName, parseProjectName } from '../../platform/api/resource-name.ts';
import { heldSlotOf } from '../../platform/api/slots.ts';
import { type Positions, SEQUENCE_HEADER } from '../../platform/http/sequence.ts';

/** Longest `batchId` of a request, characters, in the full and in the fast way alike. */
export const BATCH_ID_LENGTH_MAX = 128;
/** Longest boot id, state reason, display name and label value, characters. */
export const TEXT_LENGTH_MAX = 200;
/** Series of a row: a VM with hundreds of disks and mounts stays well below. */
const VALUES_MAX = 1_000;
const LABELS_MAX = 8;
/**
 * Bytes of a row's series with their labels; a thousand series of 160 bytes. It bounds the entry of
 * the sample log that the row is in: see `ENTRY_TEXT_BYTES_MAX` there.
 */
const SERIES_BYTES_MAX = 160 * 1024;

/**
 * The RPCs of the service; plain binary `WriteSamples` are taken by `write-samples-fast.ts` before
 * they come here.
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
        // Only the message says whose rate its bytes count against.
        takeBodyBytes(ingestRates, project, heldSlotOf(context.values)?.bodyBytes ?? 0);
      }
      checkText('batchId', request.batchId, BATCH_ID_LENGTH_MAX);
      const rows = decodeRows(project, request.rows);
      const { batchId } = request;
      const answer = await ingest.write({ project, reach: reachOf(sender), batchId, rows });
      context.responseHeader.set(SEQUENCE_HEADER, positions.afterWrite(answer.sequence));
      return {
        accepted: BigInt(answer.accepted),
        duplicates: BigInt(answer.duplicates),
        rejected: answer.rejected.map((one) => ({ ...one })),
      };
    },
    retireVms: (request, context) => retire({ host, sources }, request, context),
  };
}

/** A collector retires only its data center's VMs, as with their samples, and those that it reports. */
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
    const message = 'The key of an agent reports one VM from inside it, and cannot retire any';
    throw new Refusal('MISSING_CAPABILITY', message);
  }
  if (writesAnywhere(sender) && !projectExists(host, project)) throw noProject(project);
  const { vmNames } = request;
  if (vmNames.length === 0 || vmNames.length > RETIRE_MAX) {
    throw invalidValue('vmNames', `has ${vmNames.length} names: 1 to ${RETIRE_MAX}`);
  }
  const ids = new Map(vmNames.map((vm, i) => [vmIdOf(project, vm, `vmNames[${i}]`), vm]));
  const { answer } = await retireVms(host, {
    ...{ project, vms: [...ids.keys()], by: { kind: 'collector' as const, name } },
    request: requestKeyOf(context, RetireVmsRequestSchema, request),
    ...(datacenter !== null && { datacenter }),
    sender: { name, sources },
  });
  return {
    retiredVmNames: answer.retired.map((vm) => nameOf(project, 'vms', vm)),
    refused: answer.refused.map(({ vm, reason }) => ({ vmName: ids.get(vm) ?? vm, reason })),
  };
}

function noProject(project: string): Refusal {
  return new Refusal('NOT_FOUND', `There is no project ${project}: "svc admin" makes one`);
}

/** The rows as ingest takes them. Throws a `Refusal`: INVALID_FIELD with its index, PROJECT_BOUNDARY. */
function decodeRows(project: string, rows: readonly Row[]): IngestRow[] {
  return rows.map((row, i) => decodeRow(project, row, `rows[${i}]`));
}

function decodeRow(project: string, row: Row, at: string): IngestRow {
  const { vcpus = Number.NaN } = row;
  if (vcpus < 0)
    throw invalidValue(`${at}.vcpus`, `is ${vcpus}: leave it out when it was not observed`);
  checkText(`${at}.bootId`, row.bootId, TEXT_LENGTH_MAX);
  checkText(`${at}.stateReason`, row.stateReason, TEXT_LENGTH_MAX);
  checkText(`${at}.displayName`, row.displayName, TEXT_LENGTH_MAX);
  return {
    vm: vmIdOf(project, row.vmName, `${at}.vmName`),
    observedMs: Number(row.observedUnixMs),
    sequence: Number(row.sequence),
    boot: row.bootId,
    vcpus,
    state: stateOf(row.state, at),
    stateReason: asOneLine(row.stateReason),
    series: seriesOf(row.values, at),
    values: row.values.map(({ value }) => value),
    displayName: asOneLine(row.displayName),
  };
}

const ID_ALONE = new RegExp(`^${ID}$`);

/** A sender that may write anywhere says once where: rows of two projects are a mistake of its own. */
function vmIdOf(project: string, name: string, field: string): string {
  if (ID_ALONE.test(name)) return name;
  const named = parseName(field, name, 'vms');
  if (named.project === project) return named.id;
  const message = `${field} names a VM of another project than the request, projects/${project}`;
  throw new Refusal('PROJECT_BOUNDARY', message);
}

/** Index into `VM_STATES`; not reported and unknown are the same. */
function stateOf(state: Row_State, at: string): number {
  if (state === Row_State.STATE_UNSPECIFIED) return VM_STATES.indexOf('UNKNOWN');
  const found = VM_STATES.findIndex((name) => Row_State[name] === state);
  if (found >= 0) return found;
  throw invalidValue(`${at}.state`, `is ${state}: one of ${VM_STATES.join(', ')}`);
}

/** Keys of a row's values, in their order. Throws a `Refusal`: INVALID_FIELD. */
export function seriesOf(values: readonly NamedSeries[], at: string): SeriesKey[] {
  if (values.length > VALUES_MAX) {
    throw invalidValue(`${at}.values`, `has ${values.length} entries; ${VALUES_MAX} at most`);
  }
  const keys = values.map((value, i) => checkedKey(value, `${at}.values[${i}]`));
  const bytes = keys.reduce((sum, key) => sum + Buffer.byteLength(key), 0);
  if (bytes > SERIES_BYTES_MAX) {
    throw invalidValue(`${at}.values`, `has ${bytes} bytes of series; ${SERIES_BYTES_MAX} at most`);
  }
  if (new Set(keys).size === keys.length) return keys;
  const twice = keys.find((key, i) => keys.indexOf(key) < i);
  throw invalidValue(`${at}.values`, `has ${twice} twice: one value a series and row`);
}

type NamedSeries = Pick<Value, 'series' | 'labels'>;

const SERIES_NAME = /^[a-zA-Z_][a-zA-Z0-9_]{0,127}$/;

function checkedKey({ series, labels }: NamedSeries, at: string): SeriesKey {
  if (!SERIES_NAME.test(series)) {
    throw invalidValue(
      `${at}.series`,
      `is "${series.slice(0, 100)}": letters, digits and underscores`,
    );
  }
  const entries = Object.entries(labels);
  if (entries.length > LABELS_MAX) {
    throw invalidValue(`${at}.labels`, `has ${entries.length} entries; ${LABELS_MAX} at most`);
  }
  for (const [name, value] of entries) {
    if (!isFreeLabelName(name)) {
      throw invalidValue(
        `${at}.labels`,
        `has "${name.slice(0, 100)}", which cannot be a label here`,
      );
    }
    checkText(`${at}.labels`, value, TEXT_LENGTH_MAX);
  }
  return seriesKey(series, labels);
}

function checkText(field: string, text: string, lengthMax: number): void {
  if (text.length > lengthMax) {
    throw invalidValue(field, `has ${text.length} characters; ${lengthMax} at most`);
  }
}

function invalidValue(field: string, rest: string): Refusal {
  return invalidField(field, `${field} ${rest}`);
}

// The projects and machines that a credential may write to. Both ways in use it: the RPC framework
// here and the binary handler before it.

/** The machines that a credential reports. */
export function reachOf({ name, kind, datacenter, vm }: CredentialPrincipal): SenderReach {
  // An agent's key without a VM would be a fault of ours: it reports none, rather than any.
  return { name, datacenter, vm: kind === 'vm' ? (vm ?? '') : null };
}

/** Is it a collector of the service, which names the project it writes into? */
export function writesAnywhere({ kind, project }: CredentialPrincipal): boolean {
  return kind === 'col' && project === SYSTEM_PROJECT;
}

/** Counts bytes of a body against the project's rate. Throws a `Refusal` TOO_MANY_REQUESTS, counting nothing. */
export function takeBodyBytes(
  ingestRates: Pick<IngestRates, 'checkBytes' | 'spendBytes'>,
  project: string,
  bytes: number,
): void {
  ingestRates.checkBytes(project, bytes);
  ingestRates.spendBytes(project, bytes);
}

/** Has somebody made this project? A collector for all projects must not make one by writing. */
export function projectExists(host: Pick<Host, 'view'>, project: string): boolean {
  return host.view(project).record('project', project) !== undefined;
}
