/**
 * Operations of people in the dashboard, each with its methods, and the walk that performs one in
 * Chromium: a subtest named after the operation. `test/dashboard/everywhere/operations.test.ts`
 * compares the list with the API and with the tests.
 */
import type { Page } from 'playwright-core';
import type { Test } from 'tap';
import type { Visitor } from './chromium.ts';

/** Operation, and the methods that it must have called at its end. */
export const operations = {
  'DASH-14: a user creates a project': ['CreateProject'],
  'DASH-23: a user signs out everywhere': ['SignOutEverywhere'],
  'DASH-23: a user ends one session': ['EndSession'],
  'DASH-19: an editor creates a rule from a template': ['PreviewAlertRule', 'SaveAlertRule'],
  'DASH-16: an editor edits a rule that another user has changed': ['SaveAlertRule'],
  'DASH-16: an editor pauses and resumes a rule': ['SaveAlertRule'],
  'DASH-16: an editor deletes a rule': ['DeleteAlertRule'],
  'DASH-20: an editor replays the notifications of a rule': ['ReplayAlertRule'],
  'DASH-09: a user acknowledges an incident': ['AcknowledgeIncident'],
  'DASH-09: a user snoozes an incident and ends the snooze': ['SnoozeIncident', 'UnsnoozeIncident'],
  'DASH-09: a user acknowledges and snoozes several incidents': [
    'AcknowledgeIncidents',
    'SnoozeIncidents',
  ],
  'DASH-16: an editor plans a maintenance window': ['CreateMaintenanceWindow'],
  'DASH-16: an editor ends a maintenance window': ['EndMaintenanceWindow'],
  'DASH-21: a user sees why an alert instance has not fired': ['ExplainAlertInstance'],
  'DASH-12: an editor adds an email destination and verifies a recipient': [
    'CreateDestination',
    'VerifyDestination',
  ],
  'DASH-12: an editor adds a webhook and sends a test': [
    'CreateDestination',
    'SendTestNotification',
  ],
  'DASH-12: an editor adds a chat destination': ['CreateDestination'],
  'DASH-12: an editor rotates the secret of a webhook': ['RotateWebhookSecret'],
  'DASH-12: an editor pauses and resumes a destination': ['PauseDestination', 'ResumeDestination'],
  'DASH-12: an editor edits and deletes a destination': ['UpdateDestination', 'DeleteDestination'],
  'DASH-14: an owner invites a member and revokes an invitation': [
    'InviteMember',
    'RevokeInvitation',
  ],
  'DASH-14: an owner changes the role of a member': ['SetMemberRole'],
  'DASH-14: an owner removes a member': ['RemoveMember'],
  'DASH-22: an owner creates a service account from a template': ['CreateServiceAccount'],
  'DASH-22: an owner edits a service account': ['UpdateServiceAccount'],
  'DASH-22: an owner disables, enables and deletes a service account': [
    'DisableServiceAccount',
    'EnableServiceAccount',
    'DeleteServiceAccount',
  ],
  'DASH-22: an owner creates a key of a service account': ['CreateKey'],
  'DASH-24: an owner changes how far PromQL queries look back': ['UpdateProject'],
  'DASH-15: a member creates a personal key': ['CreateKey'],
  'DASH-15: a member rotates a key': ['RotateKey'],
  'DASH-15: a member revokes a key': ['RevokeKey'],
  'DASH-15: an owner sees and revokes the keys of a member': ['RevokeKey'],
  'DASH-18: an owner connects a CI workflow': ['StartCiVerification', 'ApproveCiVerification'],
  'DASH-18: an owner rejects a CI verification': ['RejectCiVerification'],
  'DASH-18: an owner edits the permissions of a CI connection': ['UpdateCiConnection'],
  'DASH-18: an owner disables, enables and deletes a CI connection': [
    'DisableCiConnection',
    'EnableCiConnection',
    'DeleteCiConnection',
  ],
  'DASH-08: an editor enrols a VM for expanded monitoring and ends it': ['EnrolVm', 'UnenrolVm'],
  'DASH-13: a user exports the audit trail': ['ListTransitions'],
} as const satisfies Readonly<Record<string, readonly string[]>>;

type Operation = keyof typeof operations;

/**
 * Runs a subtest in which a visitor performs the operation. It fails if a method of the operation
 * was not called, if an answer was an error that `expected` does not match, or if the page violated
 * its policy.
 */
export async function walk(
  t: Test,
  operation: Operation,
  visitor: Visitor,
  run: (t: Test, page: Page) => Promise<void>,
  expected?: RegExp,
): Promise<void> {
  await t.test(operation, async (t) => {
    const from = visitor.requested.length;
    await run(t, visitor.page).catch(async (error: Error) => {
      const displayed = await visitor.page.locator('body').innerText();
      throw new Error(`${error.message}\nThe page shows:\n${displayed}`, { cause: error });
    });
    const called = visitor.requested.slice(from).map((path) => path.split('/').at(-1) ?? '');
    for (const method of operations[operation])
      t.ok(called.includes(method), `${method} is called`);
    const problems = visitor.problems.splice(0);
    t.same(
      problems.filter((problem) => !expected?.test(problem)),
      [],
      'nothing else was refused, and no policy was violated',
    );
  });
}
