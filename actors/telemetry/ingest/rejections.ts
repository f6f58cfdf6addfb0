/**
 * The table of what `WriteSamples` rejects: each cause with the rejected part and a remedy. Code,
 * responses and docs/write-samples.md follow it. A cause in the data rejects its value, its field
 * or its row, and the rest of the batch is stored. Only causes in the request itself reject the
 * request.
 */

/** Part of a request that is not stored. FIELD: the row is stored without it. */
export type Refused = 'VALUE' | 'FIELD' | 'ROW';

interface Cause {
  /** The rejected parts; several if the cause can be in any of them. */
  readonly refuses: readonly Refused[];
  /** The cause, for the documentation. */
  readonly cause: string;
  /** Default sentence to the sender. */
  readonly message: string;
}

export const rejectionCatalogue = {
  NOT_FINITE: {
    refuses: ['VALUE', 'ROW'],
    cause: '`value` is NaN or infinite; a non-finite observation time rejects the row',
    message: 'The value is not finite. Leave out values that were not observed.',
  },
  TOO_LARGE: {
    refuses: ['VALUE'],
    cause:
      '`value` of a series under `svc_` is above 2^64 or below -2^64: no source counts further',
    message:
      'The value is above 2^64 or below -2^64, which no reading reaches. Check the unit and the source.',
  },
  NO_VALUE: {
    refuses: ['VALUE'],
    cause: '`value` is null, or missing in a request of schema version 2 or later',
    message: 'The value is missing. Leave out the whole entry if there was no reading.',
  },
  UNREADABLE: {
    refuses: ['VALUE', 'FIELD', 'ROW'],
    cause:
      'a wrong type, null, an unknown enum value or field, or text that is not UTF-8. In an entry of `values` the value is rejected; in `state`, `stateReason`, `displayName` or `vcpus` the field; elsewhere the row',
    message: 'This part cannot be read. Send it as defined in the schema.',
  },
  BAD_VM_NAME: {
    refuses: ['ROW'],
    cause: '`vmName` is missing or malformed',
    message: 'The row does not name a VM. Send a name like projects/demo/vms/ID, or only the ID.',
  },
  BAD_SERIES: {
    refuses: ['VALUE'],
    cause:
      'the series name is malformed, or the series occurs twice in a row (the first one is stored)',
    message: 'The series name is malformed. Use letters, digits and underscores.',
  },
  BAD_LABEL: {
    refuses: ['VALUE'],
    cause:
      'a label name is malformed, a label value is too long or not one plain line, or there are too many labels',
    message:
      'A label contains line breaks, control characters or bidirectional controls. Send one line of plain text.',
  },
  RESERVED_NAME: {
    refuses: ['VALUE'],
    cause: 'the series or the label is reserved for the service',
    message: 'The name is reserved for the service. Choose another one.',
  },
  BAD_FIELD: {
    refuses: ['FIELD', 'ROW'],
    cause:
      '`displayName` or `stateReason` is too long, or `vcpus` is negative; a `bootId` that is too long rejects the row',
    message: 'The field is out of bounds.',
  },
  CLOCK_AHEAD: {
    refuses: ['ROW'],
    cause: 'the observation time is more than a minute in the future',
    message:
      'The observation time is more than a minute in the future. Check the clock of the source.',
  },
  OLDER_THAN_RETENTION: {
    refuses: ['ROW'],
    cause: 'the observation time is more than seven days ago, or missing',
    message: 'The observation time is more than seven days ago. The row can no longer be stored.',
  },
  LIMIT_EXCEEDED: {
    refuses: ['VALUE', 'ROW'],
    cause:
      'a limit of the project, of the VM or of the row is reached: VMs, series, memory, boot ids, state reasons, entries of `values`',
    message: 'A limit is reached. See docs/limits.md, or ask the operator to raise it.',
  },
  OTHER_DATACENTER: {
    refuses: ['ROW'],
    cause: 'the VM belongs to a data center that the sender does not report',
    message: 'The VM belongs to a data center that this key does not report.',
  },
  OTHER_VM: {
    refuses: ['ROW'],
    cause: 'an agent sends a row of another VM',
    message: "An agent's key reports only its own VM.",
  },
  REPORTED_ELSEWHERE: {
    refuses: ['ROW'],
    cause: 'another collector reports the VM, or the VM has left the sender',
    message:
      'Another collector reports this VM, or the VM has left this one. If it belongs here, stop the other collector: after 90 seconds of silence this collector takes over.',
  },
  NOT_EXPANDED: {
    refuses: ['VALUE', 'FIELD', 'ROW'],
    cause:
      'an agent sends anything but expanded series, or a collector sends an expanded series of a VM that has no agent',
    message:
      'Expanded series must come from the agent of an enrolled VM, and an agent must send nothing else.',
  },
  TOLD_BY_AGENT: {
    refuses: ['VALUE'],
    cause: 'a collector sends an expanded series of a VM whose agent sends it',
    message: "The VM's agent sends this series.",
  },
} as const satisfies Readonly<Record<string, Cause>>;

/** A stable code of the API. */
export type RejectReason = keyof typeof rejectionCatalogue;

/** One part of a request, or of a source's reading, that is not stored. */
export interface Rejection {
  /** The series, or the field of the row; '' = the row. */
  readonly series: string;
  readonly reason: RejectReason;
  /** Sentence to the sender; absent: that of the catalogue. */
  readonly message?: string;
}

export interface RejectedSample extends Rejection {
  /** Index of the row in the request. */
  readonly row: number;
  /**
   * Id of the VM if its row is rejected for its form; absent: the row is passed on, or names none.
   */
  readonly vm?: string;
  /** Path below the row, such as `values[2].labels`; absent: it follows from `series`. */
  readonly field?: string;
  /**
   * The row is rejected because of the field named by `series`; without it, only '' rejects the
   * row.
   */
  readonly isRow?: true;
}

/** True if no part of the row is stored. */
export function refusesRow({ series, isRow }: RejectedSample): boolean {
  return series === '' || isRow === true;
}

/** The sentence for the sender. */
export function messageOf({ reason, message }: Rejection): string {
  return message ?? rejectionCatalogue[reason].message;
}
