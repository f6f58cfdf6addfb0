/**
 * Operator routes for the recorded history of the running service: whether it is intact, and who
 * did what. Changes of people, sessions, sign-in links and collectors of all projects are in no
 * project's audit log, so only the operator can read them.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { create, toJson } from '@bufbuild/protobuf';
import {
  type LogVerification,
  type LogVerifierOptions,
  verifyLog,
} from '../../actors/audit/log-verifier.ts';
import type { Host, ListOptions } from '../../actors/platform/host/host-port.ts';
import { machineDefinitions } from '../../machines/audit/registry.ts';
import { CommitReader } from '../../sqlite/platform/control/commit-reader.ts';
import { StreamOnDisk } from '../../sqlite/platform/embedded-stream/stream-read.ts';
import type { FileCheck } from '../../sqlite/platform/file-check.ts';
import { HISTORY_FILE } from '../../sqlite/telemetry/history/history-file.ts';
import type { Clock } from '../../streams/platform/clock.ts';
import { SYSTEM_PROJECT } from '../../streams/platform/commit/commit.ts';
import { CommitBodiesOfStream } from '../../streams/platform/commit/commit-bodies.ts';
import { EVENTS_STREAM } from '../../streams/platform/commit/events.ts';
import { nextTurn } from '../../streams/platform/operators.ts';
import { invalidField, Refusal } from '../../streams/platform/refusal.ts';
import type { Stream } from '../../streams/platform/stream.ts';
import { instanceDisplayName } from '../audit/api/act-sentences.ts';
import { definitionOf } from '../audit/api/audit.ts';
import { instanceNameOf, parseInstanceName } from '../audit/api/instance-names.ts';
import { compareSink, type SinkComparison } from '../audit/export/compare-sink.ts';
import { ListTransitionsResponseSchema } from '../gen/svc/audit/v1/audit_pb.ts';
import { collect, mapPage } from '../platform/api/paging.ts';
import { actorsForPeople, transitionMessage } from '../platform/api/transition-messages.ts';
import type { AdminRoutes } from './admin-server.ts';
import { checkFiles } from './check/check-files.ts';
import { checkDataFile, DATA_FILES, type DataFile } from './check/data-files.ts';
import { type Body, optionalText } from './operator.ts';

export const AUDIT_VERIFY_PATH = '/v1/audit/verify';
export const TRANSITIONS_PATH = '/v1/audit/transitions';

/** Commits between two progress reports. */
const TOLD_EACH = 100;

/** The result of `svc audit verify`: the log, and the files that the service decides from. */
export interface AuditVerification extends LogVerification {
  readonly files: readonly FileCheck[];
}

/** Databases that `svc audit verify` checks: all except history.db. */
const AUDITED_FILES: readonly DataFile[] = DATA_FILES.filter((file) => file !== HISTORY_FILE);

/**
 * Responds to `AUDIT_VERIFY_PATH` with an `AuditVerification`, after `FilesProgress` and
 * `VerifyProgress`.
 */
export function auditRoutes(parts: {
  readonly stream: Stream;
  readonly controlPath: string;
  readonly clock: Clock;
  readonly folder: string;
  readonly masterKey: () => Uint8Array | undefined;
}): AdminRoutes {
  return {
    async [AUDIT_VERIFY_PATH](signal, onProgress): Promise<AuditVerification> {
      const { folder, masterKey } = parts;
      const job = { folder, files: AUDITED_FILES, masterKey: masterKey() };
      const files = await checkFiles({ ...job, signal, onProgress });
      return withFiles(files, async () => {
        const reader = new CommitReader(parts.controlPath);
        const bodies = new CommitBodiesOfStream(parts.stream);
        try {
          return await verifyLog({
            reader,
            bodies,
            machines: machineDefinitions,
            clock: parts.clock,
            signal,
            onProgress(progress) {
              const { verified, commits } = progress;
              if (verified % TOLD_EACH === 0 || verified === commits) onProgress(progress);
            },
          });
        } finally {
          await bodies.close();
          reader.close();
        }
      });
    },
  };
}

/** If damaged files prevent the verification of the log, the damage is the result. */
async function withFiles(
  files: readonly FileCheck[],
  verify: () => Promise<LogVerification>,
): Promise<AuditVerification> {
  try {
    return { ...(await verify()), files };
  } catch (error) {
    if (files.every(({ damage }) => damage.length === 0)) throw error;
    return { hasLog: false, projects: [], files };
  }
}

/** Maximum transitions in one response, and their number by default. */
const LIMIT_MAX = 1_000;
const LIMIT_DEFAULT = 50;

/**
 * Responds to `TRANSITIONS_PATH` with a `svc.audit.v1.ListTransitionsResponse` as JSON, newest
 * first.
 */
export function transitionRoutes(host: Pick<Host, 'view' | 'projects'>): AdminRoutes {
  return {
    [TRANSITIONS_PATH]: async (_signal, _onProgress, body) => listTransitions(host, body),
  };
}

async function listTransitions(host: Pick<Host, 'view' | 'projects'>, body: Body) {
  const { project, ...filter } = filterOf(body);
  if (!host.projects().includes(project)) {
    throw new Refusal('NOT_FOUND', `There is no project ${project}`);
  }
  const page = { pageSize: limitOf(body), pageToken: optionalText(body, 'pageToken') ?? '' };
  const view = host.view(project);
  const showActor = actorsForPeople(host);
  const read = (options: ListOptions) =>
    mapPage(view.transitions({ ...options, ...filter, descending: true }), (transition) =>
      transitionMessage(transition, showActor, {
        instanceName: instanceNameOf(view, transition.machine, transition.instance),
        instanceDisplayName: instanceDisplayName(view, transition),
      }),
    );
  const { items: transitions, nextPageToken } = await collect('transitions', page, read, nextTurn);
  const message = create(ListTransitionsResponseSchema, { transitions, nextPageToken });
  return toJson(ListTransitionsResponseSchema, message, { alwaysEmitImplicit: true });
}

/** An instance is named by its id, or by its name in the API. Throws INVALID_FIELD, NOT_FOUND. */
function filterOf(body: Body): { project: string; machine?: string; instance?: string } {
  const named = optionalText(body, 'instance');
  const machine = optionalText(body, 'machine');
  if (machine !== undefined) definitionOf(machine);
  const project = optionalText(body, 'project');
  if (named?.startsWith('projects/')) {
    const { id, ...of } = parseInstanceName(named);
    if ((project ?? of.project) === of.project && (machine ?? of.machine) === of.machine) {
      return { ...of, instance: id };
    }
    const message =
      '--instance belongs to another project or machine. Remove --project and --machine';
    throw invalidField('instance', message);
  }
  const instance = named?.slice(named.lastIndexOf('/') + 1);
  return {
    project: project ?? SYSTEM_PROJECT,
    ...(machine !== undefined && { machine }),
    ...(instance !== undefined && { instance }),
  };
}

function limitOf(body: Body): number {
  const limit = Number(optionalText(body, 'limit') ?? LIMIT_DEFAULT);
  if (Number.isInteger(limit) && limit >= 1 && limit <= LIMIT_MAX) return limit;
  const message = `--limit must be a whole number from 1 to ${LIMIT_MAX}`;
  throw invalidField('limit', message);
}

/** A data folder without a service, and its master key, if it is there. */
export interface FolderOnDisk {
  readonly folder: string;
  readonly masterKey: Uint8Array | undefined;
}

/**
 * Changes nothing. Without `events.db`, the log is on a server. Throws `SqliteError`,
 * `SchemaMismatch`, `StreamMisconfigured`.
 */
export async function verifyOnDisk(
  { folder, masterKey }: FolderOnDisk,
  options: Pick<LogVerifierOptions, 'clock' | 'onProgress'>,
): Promise<AuditVerification> {
  const files = AUDITED_FILES.flatMap((file) => checkDataFile(folder, file, masterKey) ?? []);
  return withFiles(files, async () => {
    const reader = new CommitReader(join(folder, 'control.db'));
    try {
      const events = join(folder, 'events.db');
      const bodies = existsSync(events) ? new StreamOnDisk(events, EVENTS_STREAM) : null;
      try {
        return await verifyLog({ reader, bodies, machines: machineDefinitions, ...options });
      } finally {
        bodies?.close();
      }
    } finally {
      reader.close();
    }
  });
}

/**
 * Compares the files of an audit sink with the projection. Throws like `verifyOnDisk`, and for a
 * file that cannot be read.
 */
export async function compareOnDisk(
  sinks: readonly string[],
  control: string,
): Promise<SinkComparison> {
  const reader = new CommitReader(control);
  try {
    return await compareSink(sinks, reader);
  } finally {
    reader.close();
  }
}
