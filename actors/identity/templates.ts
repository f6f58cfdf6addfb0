/** The permission templates that service accounts are made from (IDN-02, IDN-04). */

export interface PermissionTemplate {
  readonly id: string;
  readonly displayName: string;
  readonly description: string;
  readonly capabilities: readonly string[];
}

export const PERMISSION_TEMPLATES: readonly PermissionTemplate[] = [
  {
    id: 'metrics-scraper',
    displayName: 'Metrics scraper',
    description:
      'Reads metrics, alert rules and incidents. No change of a VM, no console, no identities.',
    capabilities: ['monitoring.read'],
  },
  {
    id: 'alert-manager',
    displayName: 'Alert manager',
    description:
      'Reads what a metrics scraper reads, and saves alert rules and destinations. No change of a VM, no console, no identities.',
    capabilities: ['monitoring.read', 'monitoring.write'],
  },
];
