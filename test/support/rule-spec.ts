/** Alert rules in the format of the API: CPU utilization above 90 % on any VM, and changes of it. */
import { randomUUID } from 'node:crypto';

/** The specification of such a rule. */
export function cpuSpec<C extends object>(change?: C) {
  return {
    displayName: 'CPU',
    metricId: 'cpu_utilization_pct',
    operator: 'GREATER_THAN' as const,
    threshold: 90,
    severity: 'WARNING' as const,
    allVms: true,
    ...(change as C),
  };
}

/** The request that saves it under a new id. */
export function newRule(projectName: string, change: object = {}) {
  const spec = cpuSpec(change);
  return { projectName, id: randomUUID(), requestId: randomUUID(), expectedVersion: '0', spec };
}
