/**
 * Operations of people in the dashboard, each with the methods that carry it out, and the walk that
 * does one in Chromium: a subtest named after the operation. `test/dashboard/everywhere/operations.test.ts` compares
 * the list with the API and with the tests.
 */
import type { Page } from 'playwright-core';
import type { Test } from 'tap';
import type { Visitor } from './chromium.ts';

/** Operation, and the methods that it must have called when it is done. */
export const operations = {
  'create a project': ['CreateProject'],
  'sign out everywhere': ['SignOutEverywhere'],
  'end one session': ['EndSession'],
  'create a rule from a template': ['PreviewAlertRule', 'SaveAlertRule'],
  'edit a rule that somebody else has changed': ['SaveAlertRule'],
  'pause and resume a rule': ['SaveAlertRule'],
  'delete a rule': ['DeleteAlertRule'],
  'see what a rule would have sent': ['ReplayAlertRule'],
  'acknowledge an incident': ['AcknowledgeIncident'],
  'snooze an incident, and end the snooze': ['SnoozeIncident', 'UnsnoozeIncident'],
  'acknowledge and snooze several incidents': ['AcknowledgeIncidents', 'SnoozeIncidents'],
  'plan a maintenance window': ['CreateMaintenanceWindow'],
  'end a maintenance window': ['EndMaintenanceWindow'],
  'see why an alert instance has not fired': ['ExplainAlertInstance'],
  'add an email destination, and verify a recipient': ['CreateDestination', 'VerifyDestination'],
  'add a webhook, and send a test': ['CreateDestination', 'SendTestNotification'],
  'add a chat destination': ['CreateDestination'],
  'rotate the secret of a webhook': ['RotateWebhookSecret'],
  'pause and resume a destination': ['PauseDestination', 'ResumeDestination'],
  'edit and delete a destination': ['UpdateDestination', 'DeleteDestination'],
  'invite a member, and revoke an invitation': ['InviteMember', 'RevokeInvitation'],
  'change the role of a member': ['SetMemberRole'],
  'remove a member': ['RemoveMember'],
  'create a service account from a template': ['CreateServiceAccount'],
  'edit a service account': ['UpdateServiceAccount'],
  'disable, enable and delete a service account': [
    'DisableServiceAccount',
    'EnableServiceAccount',
    'DeleteServiceAccount',
  ],
  'create a key of a service account': ['CreateKey'],
  'create a personal key': ['CreateKey'],
  'rotate a key': ['RotateKey'],
  'revoke a key': ['RevokeKey'],
  'see and revoke the keys of a member': ['RevokeKey'],
  'connect a CI workflow': ['StartCiVerification', 'ApproveCiVerification'],
  'reject a CI verification': ['RejectCiVerification'],
  'edit the permissions of a CI connection': ['UpdateCiConnection'],
  'disable, enable and delete a CI connection': [
    'DisableCiConnection',
    'EnableCiConnection',
    'DeleteCiConnection',
  ],
  'enrol a VM for expanded monitoring, and end it': ['EnrolVm', 'UnenrolVm'],
  'export the audit trail': ['ListTransitions'],
} as const satisfies Readonly<Record<string, readonly string[]>>;

type Operation = keyof typeof operations;

/**
 * A subtest in which a visitor does it. It fails when a method of the operation was not called, when
 * an answer was an error that `expected` does not match, or when the page broke its policy.
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
      const shown = await visitor.page.locator('body').innerText();
      throw new Error(`${error.message}\nThe page shows:\n${shown}`, { cause: error });
    });
    const called = visitor.requested.slice(from).map((path) => path.split('/').at(-1) ?? '');
    for (const method of operations[operation])
      t.ok(called.includes(method), `${method} is called`);
    const problems = visitor.problems.splice(0);
    t.same(
      problems.filter((problem) => !expected?.test(problem)),
      [],
      'nothing else was refused, and no policy broken',
    );
  });
}
