/** A row as sent, and the VMs that the sender may report. */
import type { Row } from '../../streams/telemetry/samples/batch.ts';

/** A row as sent. Its project is that of the request, never of the sender's labels. */
export interface IngestRow extends Omit<Row, 'project'> {
  /** Name to display; absent or '' = not reported, so that the VM keeps its name. */
  readonly displayName?: string;
}

/** The VMs that a sender may report, according to its credential. */
export interface SenderReach {
  /** Resource name of the credential, which is recorded as the actor of what it registers. */
  readonly name: string;
  /** Data center of the VMs that it reports; null = that of this node. */
  readonly datacenter: string | null;
  /** For an agent: the one VM, whose expanded series are all it sends; null = a collector. */
  readonly vm: string | null;
}
