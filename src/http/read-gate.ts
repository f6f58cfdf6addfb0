/** The question a plain HTTP route asks before it shows something that needs `monitoring.read`. */
export interface GateRefusal {
  readonly status: 401 | 403;
  readonly message: string;
}

/** Undefined: may read. Takes the Authorization header as it came. */
export type ReadGate = (authorization: string | undefined) => GateRefusal | undefined;
