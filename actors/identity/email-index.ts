/**
 * Records claimed addresses that an older version did not record. If several people joined by
 * invitations to one address, that version recorded only the first, and displayed the others
 * without the mark that the address is unproven. They are found by the invitations whose links made
 * them. Done once.
 */
import { type Actor, SYSTEM_PROJECT } from '../../streams/platform/commit/commit.ts';
import { itemsInTurns } from '../../streams/platform/operators.ts';
import type { Draft, Host, Instance } from '../platform/host/host-port.ts';
import { recordName } from './invitations.ts';
import { claimEmail, claimOf, invitedPersonId } from './people-index.ts';
import { isByOperator } from './people-sign-in.ts';

declare module '../platform/host/rows.ts' {
  interface RecordBodies {
    claimIndex: Readonly<Record<string, never>>;
  }
}

const SERVICE: Actor = { kind: 'service', name: 'service/people' };
/** Record that marks the repair as done. */
const DONE = { kind: 'claimIndex', id: 'complete' } as const;
const PAGE = 500;

/** Can be repeated, even after an interruption. Throws the errors of `Host.submit`. */
export async function completeClaimIndex(
  host: Pick<Host, 'submit' | 'view' | 'projects' | 'findInstancesOf'>,
): Promise<void> {
  const system = host.view(SYSTEM_PROJECT);
  if (system.record(DONE.kind, DONE.id)) return;
  for (const project of host.projects()) {
    const invitations = itemsInTurns(PAGE, (page) =>
      host.view(project).instances('invitation', page),
    );
    for await (const row of invitations) await claimOfInvitation(host, row);
  }
  await host.submit({
    project: SYSTEM_PROJECT,
    by: SERVICE,
    decide: (draft) => draft.putRecord({ ...DONE, body: {} }),
  });
}

async function claimOfInvitation(
  host: Pick<Host, 'submit' | 'view' | 'findInstancesOf'>,
  row: Instance<'invitation'>,
): Promise<void> {
  const { email, invitedBy, person } = row.context;
  if (person === null || person !== invitedPersonId(row.instance)) return;
  if (email === '' || isByOperator(invitedBy)) return;
  if (!isUnmarked(host.view(SYSTEM_PROJECT), person)) return;
  await host.submit({
    project: SYSTEM_PROJECT,
    by: SERVICE,
    decide(draft) {
      if (isUnmarked(draft, person)) claimEmail(draft, person, email);
    },
  });
  await recordName(host, person);
}

/** True for a person without a proven address and without a recorded claim. */
function isUnmarked(view: Pick<Draft, 'instance' | 'record'>, person: string): boolean {
  const row = view.instance('person', person);
  if (row?.context.email !== '') return false;
  return claimOf(view, person) === undefined;
}
