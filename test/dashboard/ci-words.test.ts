/**
 * Texts of keyless CI: every refusal code of a proof or an exchange has a sentence, and changes
 * between two observations are found by value, including absent ones.
 */
import { test } from 'tap';
import type { DenialCause } from '../../actors/ci/assertion.ts';
import type { AssertionFault } from '../../src/ci/assertions.ts';
import { type Claim, changedClaims, workflowOf } from '../../src/dashboard/pages/ci/queries.ts';
import { refusalText, refusalTexts } from '../../src/dashboard/pages/ci/texts.ts';

type Code =
  | DenialCause
  | 'BAD_ASSERTION'
  | `BAD_ASSERTION ${AssertionFault | 'REPLAYED' | 'BEFORE_RESTORE'}`;

/** The compiler reports a code that is missing here. */
const codes: Readonly<Record<Code, true>> = {
  PULL_REQUEST: true,
  CONTEXT_REFUSED: true,
  IDENTITY_MISMATCH: true,
  IDENTITY_RENAMED: true,
  ISSUER_CHANGED: true,
  CONNECTION_DISABLED: true,
  CONNECTION_DELETED: true,
  ACCOUNT_DISABLED: true,
  NO_PERMISSION_LEFT: true,
  BAD_ASSERTION: true,
  'BAD_ASSERTION TOO_LARGE': true,
  'BAD_ASSERTION MALFORMED': true,
  'BAD_ASSERTION WRONG_ALGORITHM': true,
  'BAD_ASSERTION MISSING_CLAIM': true,
  'BAD_ASSERTION WRONG_ISSUER': true,
  'BAD_ASSERTION WRONG_AUDIENCE': true,
  'BAD_ASSERTION EXPIRED': true,
  'BAD_ASSERTION NOT_YET_VALID': true,
  'BAD_ASSERTION TOO_OLD': true,
  'BAD_ASSERTION UNKNOWN_KEY': true,
  'BAD_ASSERTION BAD_SIGNATURE': true,
  'BAD_ASSERTION REPLAYED': true,
  'BAD_ASSERTION BEFORE_RESTORE': true,
};

test('DASH-18: every refusal code has a sentence, and every sentence a code', async (t) => {
  t.same(Object.keys(refusalTexts).sort(), Object.keys(codes).sort());
  for (const [code, text] of Object.entries(refusalTexts)) t.match(text, /^[A-Z].*[.?]$/, code);
});

test('an unknown code is shown as is, or by its reason', async (t) => {
  t.equal(refusalText('TOO_NEW'), 'TOO_NEW');
  t.equal(refusalText('BAD_ASSERTION TOO_NEW'), refusalText('BAD_ASSERTION'));
});

const claim = (name: string, value?: string, bound = true): Claim => ({
  claim: name,
  bound,
  why: '',
  ...(value !== undefined && { value }),
});

test('DASH-18: a bound claim counts as changed if its value differs, or if it appears or disappears', async (t) => {
  const before = [
    claim('ref', 'main'),
    claim('event', 'push'),
    claim('environment'),
    claim('id', ''),
  ];
  const now = [
    claim('ref', 'main'),
    claim('event', 'schedule'),
    claim('environment', 'live'),
    claim('id'),
    claim('enterprise', '7'),
    claim('run', '2', false),
  ];
  const changed = changedClaims(now, before);
  t.same([...changed.keys()], ['event', 'environment', 'id', 'enterprise']);
  t.equal(changed.get('event')?.value, 'push');
  t.equal(changed.get('enterprise')?.value, undefined, 'it was absent');
  t.equal(changedClaims(now, undefined).size, 0, 'there was no observation before');
  t.equal(changedClaims(now, []).size, 0);
});

test('a workflow is named by the claims of its platform', async (t) => {
  const github = [
    claim('repository', 'acme/shop'),
    claim('workflow_ref', 'acme/shop/.github/workflows/deploy.yml@refs/heads/main'),
    claim('event_name', 'push'),
  ];
  const named = { repository: 'acme/shop', workflow: 'deploy.yml @ main', event: 'push' };
  t.same(workflowOf(github), named);
  const circleci = [claim('oidc.circleci.com/vcs-origin', 'github.com/acme/shop')];
  t.same(workflowOf(circleci), {
    repository: 'github.com/acme/shop',
    workflow: undefined,
    event: undefined,
  });
});
