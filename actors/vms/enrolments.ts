/**
 * Enrolments of VMs for expanded monitoring. A person offers it and gets a one-time token for the
 * guest. The agent there exchanges the token for a key that writes only that VM's expanded series.
 * Token, key, the end of the previous key and the VM's record change in one decision, so that a VM
 * never has two agents, and only one of two concurrent uses of a token succeeds.
 */
import { ENROLMENT_TOKEN_MS, type EnrolmentContext } from '../../machines/vms/enrolment.ts';
import { invalidField, Refusal } from '../../streams/platform/refusal.ts';
import type { IdentityChange } from '../identity/checks.ts';
import { type MintedKey, startCredential } from '../identity/credentials.ts';
import { enrolmentIdOf } from '../identity/grants.ts';
import { sameDigest } from '../identity/sign-in-secrets.ts';
import type { Draft, Host, Instance } from '../platform/host/host-port.ts';
import { ShardPlaces } from './export-shards.ts';
import { type VmBody, vmDirectoryOf } from './vm-directory.ts';

/** Lifetime of an agent's key, ms. The VM must be enrolled again before its end. */
const AGENT_KEY_MS = 365 * 86_400_000;
const SYSTEM_LENGTH_MAX = 200;

/** A VM in the change's project. */
export interface VmChange extends IdentityChange {
  readonly vm: string;
}

/** Offers enrolment of a VM, which ends an open offer. */
export interface OfferEnrolment extends VmChange {
  /** '' = that of the known VM. */
  readonly datacenter: string;
}

/** The token for the guest, which can be used once. */
export interface OfferedEnrolment {
  /** null for a resent request, because the token cannot be read again. */
  readonly token: string | null;
  /** End of the token, Unix ms. */
  readonly expiresMs: number;
}

/** Result of an agent's enrolment. */
export interface EnrolledAgent {
  readonly project: string;
  readonly vm: string;
  /** The secret, which cannot be read again. */
  readonly key: string;
  /** Unix ms. */
  readonly expiresMs: number;
}

/** Methods reject with a `Refusal`, and with the errors of `Host.submit`. */
export interface Enrolments {
  /**
   * A token for the agent of a VM, which may be new. It replaces an earlier token; the current
   * agent works until the next one enrols. INVALID_FIELD (data center missing, or not the VM's),
   * INVALID_STATE (no expanded monitoring there, or the VM was retired).
   */
  offer(request: OfferEnrolment): Promise<OfferedEnrolment>;
  /** Ends expanded monitoring, token and key at once. Changes nothing if it is off. NOT_FOUND. */
  end(request: VmChange): Promise<void>;
  /**
   * Exchanges a token for a key. MALFORMED_CREDENTIAL for a token that is unknown, used, withdrawn
   * or expired, without distinction.
   *
   * @param system description of the guest by its agent, for display
   */
  enrol(token: string, system: string): Promise<EnrolledAgent>;
  /** True if VMs of this data center can be enrolled. */
  isAvailableIn(datacenter: string): boolean;
}

/** The host, and the data centers that allow enrolment. */
export interface EnrolmentsDeps {
  readonly host: Pick<Host, 'submit' | 'findInstance' | 'view' | 'onApplied'>;
  /** Data centers with expanded monitoring. */
  readonly datacenters: readonly string[];
  /** Secrets. `src/platform/keys.ts` defines their form. */
  readonly secrets: EnrolmentSecrets;
}

/** Makes and parses tokens and keys of agents. */
export interface EnrolmentSecrets {
  /** A token that contains the id of its enrolment. */
  mintToken(enrolment: string): MintedKey;
  mintKey(): MintedKey;
  /** Id of the enrolment in a well-formed token; undefined for other texts. */
  parseToken(text: string): string | undefined;
  /** SHA-256, hex. */
  hash(text: string): string;
}

/** Wraps the host. Enrolments of a VM are decided one after another at its project's head. */
export function createEnrolments(deps: EnrolmentsDeps): Enrolments {
  return {
    offer: (request) => offer(deps, request),
    end: (request) => end(deps, request),
    enrol: (token, system) => enrol(deps, token, system),
    isAvailableIn: (datacenter) => deps.datacenters.includes(datacenter),
  };
}

async function offer(deps: EnrolmentsDeps, request: OfferEnrolment): Promise<OfferedEnrolment> {
  const { project, vm, by } = request;
  const id = enrolmentIdOf(project, vm);
  const minted = deps.secrets.mintToken(id);
  const { answer, replayed } = await deps.host.submit({
    ...submission(request),
    decide(draft) {
      const known = vmBody(draft, vm);
      if (known?.retiredMs !== undefined) throw retiredVm(vm);
      const datacenter = datacenterFor(deps, known, request.datacenter);
      const facts = { at: draft.at, tokenHash: minted.hash, datacenter, by: by.name };
      if (!draft.instance('enrolment', id)) draft.start('enrolment', id, { ...facts, project, vm });
      else draft.send('enrolment', id, { type: 'offered', ...facts });
      return { expiresMs: draft.at + ENROLMENT_TOKEN_MS };
    },
  });
  return { token: replayed ? null : minted.text, expiresMs: answer.expiresMs };
}

async function end(deps: EnrolmentsDeps, request: VmChange): Promise<void> {
  const { vm, by } = request;
  await deps.host.submit({
    ...submission(request),
    decide(draft) {
      const id = enrolmentIdOf(draft.project, vm);
      const enrolment = draft.instance('enrolment', id);
      if (!enrolment) {
        throw new Refusal('NOT_FOUND', `The VM ${vm} has never been enrolled in ${draft.project}`);
      }
      revokeKey(draft, enrolment.context, 'UNENROLLED', by.name);
      draft.send('enrolment', id, { type: 'unenrolled', at: draft.at, by: by.name });
      putUnwatched(draft, vm, vmBody(draft, vm));
      return {};
    },
  });
}

async function enrol(
  { host, datacenters, secrets }: EnrolmentsDeps,
  token: string,
  system: string,
): Promise<EnrolledAgent> {
  const digest = secrets.hash(token);
  const id = secrets.parseToken(token);
  const found = id === undefined ? undefined : host.findInstance('enrolment', id);
  // The token of an unknown enrolment is compared too, so that both cases take the same time. Costs
  // no commit.
  const isKnown = sameDigest(found?.context.tokenHash, digest);
  if (!found || !isKnown) throw uselessToken();
  const { project, vm } = found.context;
  const minted = secrets.mintKey();
  const { answer } = await host.submit({
    project,
    by: { kind: 'collector', name: vmName(project, vm) },
    makesCredential: true,
    decide(draft) {
      const enrolment = draft.instance('enrolment', found.instance);
      if (!enrolment || !isUsable(enrolment, digest, draft.at)) throw uselessToken();
      const context = enrolment.context;
      const before = vmBody(draft, vm);
      const datacenter = reportedDatacenter(before) ?? context.datacenter;
      assertExpanded(datacenters, datacenter);
      revokeKey(draft, context, 'REPLACED', vmName(project, vm));
      const expiresMs = startAgentKey(draft, minted, vm, datacenter);
      const about = {
        credential: minted.id,
        system: system.slice(0, SYSTEM_LENGTH_MAX).toWellFormed(),
      };
      draft.send('enrolment', enrolment.instance, { type: 'enrolled', at: draft.at, ...about });
      putWatched(draft, vm, { before, datacenter, host });
      return { expiresMs };
    },
  });
  return { project, vm, key: minted.text, expiresMs: answer.expiresMs };
}

function submission({ project, by, request }: IdentityChange) {
  return { project, by, ...(request && { request }) };
}

function retiredVm(vm: string): Refusal {
  return new Refusal(
    'INVALID_STATE',
    `The VM ${vm} was retired. It can be enrolled once a collector reports it again`,
  );
}

/** Ends the agent's key and any token of a VM, in the decision that retires it. */
export function endAgentOf(draft: Draft, vm: string, by: string): void {
  const id = enrolmentIdOf(draft.project, vm);
  const enrolment = draft.instance('enrolment', id);
  if (!enrolment) return;
  revokeKey(draft, enrolment.context, 'VM_DELETED', by);
  draft.send('enrolment', id, { type: 'unenrolled', at: draft.at, by });
}

/** The data center reported by a collector; before the first report, the caller's. */
function datacenterFor(
  { datacenters }: EnrolmentsDeps,
  known: VmBody | undefined,
  requested: string,
): string {
  const reported = reportedDatacenter(known);
  if (reported !== undefined && requested !== '' && requested !== reported) {
    throw invalidField(
      'datacenter',
      `datacenter is ${JSON.stringify(requested)}, but the VM is in ${reported}`,
    );
  }
  const datacenter = reported ?? (requested || known?.datacenter);
  if (datacenter === undefined) {
    const message =
      'datacenter is missing: it is required for a VM that no collector has reported yet';
    throw invalidField('datacenter', message);
  }
  assertExpanded(datacenters, datacenter);
  return datacenter;
}

/** Data center of the VM as reported by a collector; undefined if none has reported it. */
function reportedDatacenter(known: VmBody | undefined): string | undefined {
  return known && !known.isExpected ? known.datacenter : undefined;
}

function assertExpanded(datacenters: readonly string[], datacenter: string): void {
  if (datacenters.includes(datacenter)) return;
  const where = datacenters.length > 0 ? `only in ${datacenters.join(', ')}` : 'in no data center';
  throw new Refusal(
    'INVALID_STATE',
    `Expanded monitoring is available ${where}; the VM is in ${datacenter}`,
    { datacenter },
  );
}

function isUsable(
  { value, context }: Instance<'enrolment'>,
  digest: string,
  nowMs: number,
): boolean {
  const isSame = sameDigest(context.tokenHash, digest);
  return value === 'offered' && isSame && nowMs < Number(context.expiresMs);
}

function uselessToken(): Refusal {
  return new Refusal(
    'MALFORMED_CREDENTIAL',
    'The enrolment token cannot be used. It is unknown, was used, was withdrawn, or is older ' +
      'than 24 hours. Enrol the VM again to get a new one',
  );
}

function startAgentKey(draft: Draft, minted: MintedKey, vm: string, datacenter: string): number {
  const { project } = draft;
  const owner = vmName(project, vm);
  return startCredential(draft, minted, {
    project,
    kind: 'vm',
    capabilities: ['collector'],
    owner,
    createdBy: owner,
    displayName: 'Agent',
    datacenter,
    vm,
    lifetimeMs: AGENT_KEY_MS,
  });
}

function revokeKey(
  draft: Draft,
  { credential }: EnrolmentContext,
  reason: string,
  by: string,
): void {
  if (credential === null || !draft.instance('credential', credential)) return;
  draft.send('credential', credential, { type: 'revoked', at: draft.at, reason, by });
}

/** Adds the agent to the VM's record, which is created if no collector has reported the VM. */
function putWatched(
  draft: Draft,
  vm: string,
  {
    before,
    datacenter,
    host,
  }: Pick<EnrolmentsDeps, 'host'> & {
    readonly before: VmBody | undefined;
    readonly datacenter: string;
  },
): void {
  const watched = { datacenter, expandedMonitoring: true, hasAgent: true } as const;
  if (before) {
    draft.putRecord({ kind: 'vm', id: vm, body: { ...before, ...watched } });
    return;
  }
  const retired = vmDirectoryOf(host).retiredWithSlot(draft.project);
  const places = new ShardPlaces(draft, retired);
  const body: VmBody = {
    displayName: vm,
    ...watched,
    registeredMs: draft.at,
    isExpected: true,
    exportShard: places.take(),
  };
  draft.putRecord({ kind: 'vm', id: vm, body: { ...body } });
  places.store();
}

/**
 * Removes the agent from the VM's record. The record stays, even if no collector ever reported the
 * VM, because the agent's samples are read through it.
 */
function putUnwatched(draft: Draft, vm: string, before: VmBody | undefined): void {
  if (!before?.hasAgent) return;
  const { hasAgent: _, ...body } = before;
  draft.putRecord({ kind: 'vm', id: vm, body: { ...body, expandedMonitoring: false } });
}

function vmBody(draft: Draft, vm: string): VmBody | undefined {
  // Records of this kind are always written as `VmBody`.
  return draft.record('vm', vm)?.body;
}

function vmName(project: string, vm: string): string {
  return `projects/${project}/vms/${vm}`;
}
