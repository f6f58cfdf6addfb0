/** A row as its sender has it, and the VMs that the sender may report. */
import type { Row } from '../../streams/telemetry/samples/batch.ts';

/** A row as a sender has it; its project comes from the request, never from the sender's labels. */
export interface IngestRow extends Omit<Row, 'project'> {
  /** Name to show; absent or '' = not reported: the VM keeps its name. */
  readonly displayName?: string;
}

/** What a sender may report, as its credential says. */
export interface SenderReach {
  /** Resource name of the credential: what it makes known is recorded as its act. */
  readonly name: string;
  /** Data center of the VMs that it reports; null = that of this node. */
  readonly datacenter: string | null;
  /** Of an agent: the one VM, whose expanded series it sends and nothing else; null = a collector. */
  readonly vm: string | null;
}
