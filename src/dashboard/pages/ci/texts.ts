/** Texts of the keyless CI pages: connections and their verification. */
import { localized } from '../../messages/localized.ts';

export const texts = localized({
  about:
    'A CI job proves its identity with a signed token from its platform and gets a token for this service that is valid for 15 minutes. There is no key to store or leak.',
  connect: 'Connect a workflow',
  none: 'No workflows are connected yet',
  list: {
    label: 'CI connections',
    name: 'Name',
    state: 'State',
    account: 'Service account',
    repository: 'Repository',
    workflow: 'Workflow',
    event: 'Event',
    exchange: 'Last exchange',
    refusal: 'Last refusal',
    never: 'never',
    noRefusal: 'none',
  },
  open: {
    title: 'Verifications in progress',
    label: 'Verifications in progress',
    expires: 'Time left',
  },
  /** Steps of the wizard, in order. */
  steps: {
    label: 'Steps',
    account: 'Service account',
    setUp: 'Set up',
    wait: 'Run it',
    review: 'Review',
    cleanUp: 'Clean up',
    of: (step: number, count: number) => `Step ${step} of ${count}`,
  },
  start: {
    title: 'Connect a workflow',
    about:
      'Trust is not based on a typed repository name. The workflow proves its identity, you review it, and you approve exactly what it proved.',
    account: 'Service account',
    accountHelp: 'It limits what the job can ever do, and stays when members leave.',
    choose: 'Choose one',
    noAccount: 'There is no active service account yet. Create one.',
    page: 'Open it',
    createOther: 'Create another one',
    name: 'Name of the connection',
    nameHelp: 'For example, the workflow and its purpose: Deploy workflow.',
    capabilities: 'Permissions that you can approve later',
    capabilitiesHelp: 'Only those that the service account has.',
    platform: 'CI platform',
    platformHelp: (url: string) => `Issues its tokens at ${url}.`,
    send: 'Start the verification',
    effect: 'Valid for 30 minutes. Proves an identity and grants nothing.',
    refused: 'The verification was not started',
    accountMissing: 'Choose a service account first',
    nameMissing: 'Enter a name first',
    capabilityMissing: 'Choose at least one permission',
    again: (name: string) =>
      `Repeats ${name}. The review will mark what differs from its observation.`,
    cancel: 'Back to the list',
  },
  create: {
    title: 'New service account',
    name: 'Name of the service account',
    template: 'Template',
    send: 'Create',
    created: (name: string) => `${name} created`,
    refused: 'The service account was not created',
    nameMissing: 'Enter a name first',
    has: (capabilities: string) => `Permissions: ${capabilities}.`,
  },
  wizard: {
    left: 'Valid for',
    expiresAt: 'until',
    awaitsReview: 'Awaiting review',
    wrongCodes: (count: number) =>
      count === 1 ? '1 wrong pairing code was sent.' : `${count} wrong pairing codes were sent.`,
    attempts:
      'After five wrong codes, a source must wait ten minutes. Other sources are not affected.',
    lastRefusal: 'The last run was rejected',
    refusedClaims: (claims: string) => `Claims: ${claims}.`,
    codeStays: 'The pairing code is still valid. Run the job again.',
  },
  setUp: {
    code: 'Store the code as the secret SVC_SETUP_CODE',
    codeHelp: 'Use a secret of the repository or of the environment that the job runs in.',
    codeLabel: 'Pairing code',
    stored: 'The code has been displayed. The dashboard does not store it.',
    lost: 'The pairing code was displayed once, when the verification started',
    lostHelp:
      'If the code was not stored, reject this verification and start again with a new code.',
    paste: 'Add this step to the job',
    pasteHelp:
      'Add it to the job that will use the connection. Another file, environment or reusable workflow is a different identity. The step requires only bash and curl.',
    step: 'Step to paste',
    permission: 'The job needs these permissions. Naming one removes all that are not named.',
    permissionLabel: 'Permissions of the job',
    facts: 'Values used in the step',
    origin: 'API origin',
    setupId: 'Setup id',
    audience: 'Audience',
    secret: 'Name of the secret',
    run: 'Run it',
    runHelp:
      'Use the branch, event and environment that you want to trust. Pushes, manual runs and schedules can be trusted; pull requests never.',
    next: 'Done: wait for the run',
  },
  wait: {
    title: 'Waiting for the run',
    help: 'This page checks every 3 seconds. The job log ends with “Observed, and waiting for review”.',
    back: 'Back to setup',
  },
  review: {
    title: 'Is this the workflow you want to trust?',
    help: 'Compare the repository, owner, workflow, branch, event and environment. You approve exactly what is shown here.',
    observed: 'Observed',
    changes: (count: number) =>
      count === 1
        ? '1 bound claim differs from the previous observation'
        : `${count} bound claims differ from the previous observation`,
    noChanges: 'The bound claims match the previous observation.',
    changesHelp:
      'They are marked below. Boxes that you ticked before do not count for this observation.',
    claims: 'Claims to be bound',
    keptClaims: 'Claims kept for review and audit, but not compared',
    claim: 'Claim',
    value: 'Value',
    use: 'Use',
    why: 'Why',
    bound: 'Bound',
    kept: 'Kept',
    absent: 'absent',
    empty: 'empty',
    changed: 'Changed',
    was: (value: string) => `was ${value}`,
    ticks: 'Before you approve',
    ticksHelp: 'Each box applies to this observation only.',
    isIt: 'This is the repository, workflow, branch, event and environment that I want to trust',
    isChanged: (claim: string, before: string, now: string) =>
      `${claim} is now ${now} (was ${before}), and this is intended`,
    capabilities: 'Permissions',
    capabilitiesHelp:
      'Grant only what the job needs. You can grant only permissions that the service account has now.',
    nothingLeft: 'The service account has none of the requested permissions.',
    name: 'Name of the connection',
    approve: 'Approve',
    approveEffect: 'Only jobs of exactly this workflow can then exchange their tokens.',
    refused: 'The approval failed',
    unticked: (count: number) =>
      count === 1 ? '1 box left to tick' : `${count} boxes left to tick`,
    other: 'Not this one?',
    otherHelp:
      'A pairing code is valid for one observation. To observe another run, reject this one and start again.',
  },
  reject: {
    action: 'Reject',
    again: 'Reject and start again',
    ask: 'Reject this verification?',
    help: 'The verification ends without granting trust, and its pairing code expires. Remove the step and the secret from the workflow.',
    againHelp:
      'The verification ends without granting trust. The next one has a new pairing code, and its review marks the differences.',
    reason: 'Reason',
    reasonHelp: 'Optional. Recorded in the audit trail.',
    done: 'Rejected',
  },
  ended: {
    REJECTED: 'This verification was rejected',
    EXPIRED: 'This verification expired after 30 minutes',
    help: 'Nothing was granted. Remove the step and the secret SVC_SETUP_CODE from the workflow, or start again.',
    again: 'Start again',
  },
  cleanUp: {
    approved: 'Approved',
    remove: 'Remove the step and the secret',
    removeHelp:
      'Remove the verification step from the workflow and delete the secret SVC_SETUP_CODE. Neither is needed any more. The connection stays.',
    variables: 'Set the CI variables',
    use: 'Use the connection',
    useHelp:
      'In the same job, use the action or “svc auth ci”. The token is valid for 15 minutes; a longer job must exchange again.',
    waiting: 'Waiting for the first exchange',
    waitingHelp: 'This page checks every 3 seconds. You can close it.',
    first: 'The first exchange succeeded',
    refused: 'An exchange was denied',
    open: 'Open the connection',
  },
  variables: {
    help: 'None of these is a secret.',
    all: 'Copy all',
  },
  connection: {
    facts: 'Details',
    account: 'Service account',
    approvedFor: 'Approved permissions',
    canDo: 'Current permissions',
    nothing: 'nothing',
    platform: 'Platform',
    created: 'Approved',
    by: 'by',
    updated: 'Changed',
    lastExchange: 'Last exchange',
    lastRefusal: 'Last refusal',
    disabledReason: 'Reason for disabling',
    verification: 'Verification',
    openVerification: 'Open the verification',
    claims: 'Bound claims',
    claimsHelp:
      'Every exchange must present exactly these values. Another workflow, branch or event requires a new verification.',
    exchanges: 'Recent exchanges',
    noExchange: 'No job has exchanged a token yet.',
    exchanged: 'Time',
    actor: 'Started by',
    run: 'Run',
    commit: 'Commit',
    refusals: 'Recent refusals',
    refusalsHelp:
      'At most one per minute is recorded. The differing claims are shown here; their values are in the job log, next to the correlation id.',
    noRefusal: 'No recent refusals.',
    refused: 'Time',
    cause: 'Why',
    differing: 'Claims',
    correlation: 'Correlation id',
    variables: 'CI variables',
    path: 'Steps on the statechart',
    edit: 'Edit name and permissions',
    editEffect: 'Changing permissions invalidates the tokens that jobs hold now.',
    editHelp:
      'Changing permissions invalidates all issued tokens at once; running jobs must exchange again. Renaming invalidates no tokens.',
    name: 'Name',
    save: 'Save',
    saved: 'Saved',
    disable: 'Disable',
    disableEffect: 'Emergency stop: exchanges are denied and issued tokens stop working at once.',
    disableAsk: 'Disable this connection?',
    enable: 'Enable',
    enableEffect: 'The workflow can exchange again. Earlier tokens stay invalid.',
    enableAsk: 'Enable this connection?',
    remove: 'Delete',
    removeEffect: 'This cannot be undone. Reconnecting requires a new verification.',
    removeAsk: 'Delete this connection?',
    disabled: 'Disabled',
    enabled: 'Enabled',
    removed: 'Deleted',
    isDisabled: 'Disabled: all exchanges are denied and issued tokens are invalid',
    accountGone:
      'The connection cannot do anything now because its service account is disabled or lost its permissions',
    times: (count: number) => `${count} times`,
  },
});

/** How a claim of a denied exchange differs from the approved one. */
export const differenceNames: Readonly<Record<string, string>> = localized({
  DIFFERENT: 'another value',
  MISSING: 'missing',
});

/** CI platforms by the name that operators usually give them. Other names are shown as is. */
export const platformNames: Readonly<Record<string, string>> = localized({
  github: 'GitHub',
  gitlab: 'GitLab',
  circleci: 'CircleCI',
  buildkite: 'Buildkite',
});

export const capabilityNames: Readonly<Record<string, string>> = localized({
  'monitoring.read': 'Read: metrics, VMs, rules, incidents',
  'monitoring.write': 'Write: rules and destinations',
});

/** Why a proof or an exchange was denied, by code, and what to do next. */
export const refusalTexts: Readonly<Record<string, string>> = localized({
  PULL_REQUEST:
    'Runs for pull requests and merge queues are never trusted. Run the workflow by a push to the branch, manually or on a schedule.',
  CONTEXT_REFUSED:
    'The event or ref of this run can never be trusted. Run the workflow from a branch by a push, manually or on a schedule.',
  IDENTITY_MISMATCH:
    'The job does not match the approved one. Run the approved workflow with its branch, event and environment, or verify this one.',
  IDENTITY_RENAMED:
    'The repository or owner has a new name under the same id. If this is intended, verify the workflow again.',
  ISSUER_CHANGED:
    'The issuer name now refers to a different issuer. Ask the operator to restore it, or verify the workflow again.',
  CONNECTION_DISABLED: 'The connection is disabled.',
  CONNECTION_DELETED: 'The connection was deleted. Verify the workflow again.',
  ACCOUNT_DISABLED: 'The service account is disabled or deleted.',
  NO_PERMISSION_LEFT: 'The service account no longer has any of the approved permissions.',
  BAD_ASSERTION: 'The identity token is not valid.',
  'BAD_ASSERTION TOO_LARGE': 'The identity token is larger than any platform issues.',
  'BAD_ASSERTION MALFORMED': 'The request does not contain an identity token of the platform.',
  'BAD_ASSERTION WRONG_ALGORITHM': 'The identity token is not signed with RS256.',
  'BAD_ASSERTION MISSING_CLAIM': 'The identity token lacks a required claim.',
  'BAD_ASSERTION WRONG_ISSUER':
    'The identity token is from another issuer. Check the platform of the job.',
  'BAD_ASSERTION WRONG_AUDIENCE':
    'The identity token is for another audience. Check SVC_AUDIENCE or the audience in the step.',
  'BAD_ASSERTION EXPIRED': 'The identity token has expired. Run the job again to get a new one.',
  'BAD_ASSERTION NOT_YET_VALID':
    'The identity token is not valid yet. Check the clocks of this service and of the platform.',
  'BAD_ASSERTION TOO_OLD':
    'The identity token was older than ten minutes. Request it right before using it.',
  'BAD_ASSERTION UNKNOWN_KEY':
    'The identity token is signed with a key that the platform does not publish.',
  'BAD_ASSERTION BAD_SIGNATURE': 'The signature of the identity token is not valid.',
  'BAD_ASSERTION REPLAYED':
    'The identity token was used before. Each attempt needs a new token, so run the job again.',
  'BAD_ASSERTION BEFORE_RESTORE':
    'The identity token was issued before a backup was restored here. Run the job again.',
});

/** The explanation of a code. Unknown codes are shown as is. */
export function refusalText(code: string): string {
  return refusalTexts[code] ?? refusalTexts[code.split(' ')[0] ?? ''] ?? code;
}
