/** Texts of the pages of keyless CI: connections, and the verification that leads to one. */
import { localized } from '../../messages/localized.ts';

export const texts = localized({
  about:
    'A CI job proves its identity with a signed token of its platform and gets a token of this service for 15 minutes. There is no key to store or to leak.',
  connect: 'Connect a workflow',
  none: 'No workflow is connected yet',
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
    title: 'Verifications under way',
    label: 'Verifications under way',
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
      'Trust is not given to a repository name that somebody typed: the workflow shows who it is, you review it, and you approve exactly what it showed.',
    account: 'Service account',
    accountHelp: 'It limits what the job can ever do, and stays when people leave.',
    choose: 'Choose one',
    noAccount: 'There is no active service account yet: create one.',
    page: 'Its page',
    createOther: 'Create another one',
    name: 'Name of the connection',
    nameHelp: 'Such as the workflow and what it is for: Deploy workflow.',
    capabilities: 'Permissions that can be approved later',
    capabilitiesHelp: 'Only those that the service account has.',
    platform: 'CI platform',
    platformHelp: (url: string) => `Its tokens are of ${url}.`,
    send: 'Start the verification',
    effect: 'Valid for 30 minutes. It proves an identity and grants nothing.',
    refused: 'The verification was not started',
    accountMissing: 'Choose a service account first',
    nameMissing: 'Give it a name first',
    capabilityMissing: 'Choose at least one permission',
    again: (name: string) =>
      `Again after ${name}: the review will mark what differs from its observation.`,
    cancel: 'Back to the list',
  },
  create: {
    title: 'New service account',
    name: 'Name of the service account',
    template: 'Template',
    send: 'Create it',
    created: (name: string) => `${name} is created`,
    refused: 'The service account was not created',
    nameMissing: 'Give it a name first',
    has: (capabilities: string) => `Permissions: ${capabilities}.`,
  },
  wizard: {
    left: 'Valid for',
    expiresAt: 'until',
    awaitsReview: 'Awaiting review',
    wrongCodes: (count: number) =>
      count === 1 ? '1 wrong pairing code was sent.' : `${count} wrong pairing codes were sent.`,
    attempts: 'After five wrong codes a source must wait ten minutes; others are not affected.',
    lastRefusal: 'The last run was refused',
    refusedClaims: (claims: string) => `Claims: ${claims}.`,
    codeStays: 'The pairing code is still good: run it again.',
  },
  setUp: {
    code: 'Store the code as the secret SVC_SETUP_CODE',
    codeHelp: 'Of the repository, or of the environment that the job runs in.',
    codeLabel: 'Pairing code',
    stored: 'The code was shown. It is stored nowhere in the dashboard.',
    lost: 'The pairing code was shown once, when the verification was started',
    lostHelp:
      'If nobody has stored it, reject this verification and start again with another code.',
    paste: 'Put this step into the job',
    pasteHelp:
      'Into the very job that will use the connection: another file, environment or reusable workflow is another identity. It needs only bash and curl.',
    step: 'Step to paste',
    permission: 'The job needs these permissions; naming one removes all that are not named.',
    permissionLabel: 'Permissions of the job',
    facts: 'Values used in the step',
    origin: 'API origin',
    setupId: 'Setup id',
    audience: 'Audience',
    secret: 'Name of the secret',
    run: 'Run it',
    runHelp:
      'From the branch, with the event and in the environment that you want to trust. Pushes, runs by hand and schedules can be trusted; pull requests never.',
    next: 'It is set up: wait for the run',
  },
  wait: {
    title: 'Waiting for the run',
    help: 'This page checks every 3 seconds. The log of the job ends with “Observed, and waiting for review”.',
    back: 'Back to the set-up',
  },
  review: {
    title: 'Is this the workflow that you want to trust?',
    help: 'Compare repository, owner, workflow, branch, event and environment. You approve exactly what is shown here.',
    observed: 'Observed',
    changes: (count: number) =>
      count === 1
        ? '1 bound claim differs from the observation before'
        : `${count} bound claims differ from the observation before`,
    noChanges: 'The bound claims are those of the observation before.',
    changesHelp: 'They are marked below. What you ticked then does not count for this observation.',
    claims: 'Claims that would be bound',
    keptClaims: 'Claims that are kept for review and audit, and not compared',
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
    ticksHelp: 'Each of them holds for this observation alone.',
    isIt: 'This is the repository, workflow, branch, event and environment that I want to trust',
    isChanged: (claim: string, before: string, now: string) =>
      `${claim} is ${now} now, it was ${before}: that is intended`,
    capabilities: 'Permissions',
    capabilitiesHelp: 'Grant only what the job needs; only what the service account has now.',
    nothingLeft: 'The service account has none of the permissions that were asked for.',
    name: 'Name of the connection',
    approve: 'Approve',
    approveEffect: 'Jobs of exactly this workflow can then exchange their tokens.',
    refused: 'It was not approved',
    unticked: (count: number) =>
      count === 1 ? '1 box is left to tick' : `${count} boxes are left to tick`,
    other: 'It is not this one?',
    otherHelp:
      'A pairing code is good for one observation. To have another run observed, reject this one and start again.',
  },
  reject: {
    action: 'Reject',
    again: 'Reject it and start again',
    ask: 'Reject this verification?',
    help: 'It ends without trusting anything, and its pairing code with it. Remove the step and the secret from the workflow.',
    againHelp:
      'It ends without trusting anything. The next one has another pairing code, and its review marks what differs.',
    reason: 'Reason',
    reasonHelp: 'Optional; it stands in the audit.',
    done: 'Rejected',
  },
  ended: {
    REJECTED: 'This verification was rejected',
    EXPIRED: 'This verification has expired: its 30 minutes are over',
    help: 'Nothing was granted. Remove the step and the secret SVC_SETUP_CODE from the workflow, or start again.',
    again: 'Start again',
  },
  cleanUp: {
    approved: 'Approved',
    remove: 'Remove the step and the secret',
    removeHelp:
      'Take the verification step out of the workflow and delete the secret SVC_SETUP_CODE. Neither is needed any more; removing them does not end the connection.',
    variables: 'Set the variables of the CI',
    use: 'Use it',
    useHelp:
      'In the same job, with the action or with “svc auth ci”. The token is valid for 15 minutes; a longer job exchanges again.',
    waiting: 'Waiting for the first exchange',
    waitingHelp: 'This page checks every 3 seconds; it need not stay open.',
    first: 'The first exchange was made',
    refused: 'An exchange was refused',
    open: 'Open the connection',
  },
  variables: {
    help: 'None of them is a secret.',
    all: 'Copy all',
  },
  connection: {
    facts: 'Facts',
    account: 'Service account',
    approvedFor: 'Approved for',
    canDo: 'Can do now',
    nothing: 'nothing',
    platform: 'Platform',
    created: 'Approved',
    by: 'by',
    updated: 'Changed',
    lastExchange: 'Last exchange',
    lastRefusal: 'Last refusal',
    disabledReason: 'Disabled because',
    verification: 'Verification',
    openVerification: 'Open the verification',
    claims: 'What it binds',
    claimsHelp:
      'Every exchange must show exactly these values. Another workflow, branch or event needs a new verification.',
    exchanges: 'Recent exchanges',
    noExchange: 'No job has exchanged its token yet.',
    exchanged: 'Time',
    actor: 'Started by',
    run: 'Run',
    commit: 'Commit',
    refusals: 'Recent refusals',
    refusalsHelp:
      'At most one a minute is recorded. Which claims differ is shown here; their values are in the log of the job, beside the correlation id.',
    noRefusal: 'No exchange was refused lately.',
    refused: 'Time',
    cause: 'Why',
    differing: 'Claims',
    correlation: 'Correlation id',
    variables: 'Variables of the CI',
    path: 'Its steps on the statechart',
    edit: 'Edit name and permissions',
    editEffect: 'Changed permissions invalidate the tokens that jobs have now.',
    editHelp:
      'When permissions change, tokens that were issued before stop working at once; a job that still runs has to exchange again. Another name ends no token.',
    name: 'Name',
    save: 'Save',
    saved: 'Saved',
    disable: 'Disable',
    disableEffect: 'The emergency stop: exchanges and issued tokens stop at once.',
    disableAsk: 'Disable this connection?',
    enable: 'Enable',
    enableEffect: 'The workflow can exchange again; tokens of before stay invalid.',
    enableAsk: 'Enable this connection?',
    remove: 'Delete',
    removeEffect: 'For good: connecting it again needs a new verification.',
    removeAsk: 'Delete this connection?',
    disabled: 'Disabled',
    enabled: 'Enabled',
    removed: 'Deleted',
    isDisabled: 'Disabled: every exchange is refused, and so are the tokens issued before',
    accountGone:
      'It can do nothing at the moment: its service account is disabled or lost its permissions',
    times: (count: number) => `${count} times`,
  },
});

/** What a claim of a refused exchange is, beside the approved one. */
export const differenceNames: Readonly<Record<string, string>> = localized({
  DIFFERENT: 'another value',
  MISSING: 'missing',
});

/** CI platforms by the name that an operator usually gives them; another name is shown as it is. */
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

/** Why a proof or an exchange was refused, by its code, in a sentence that says what to do. */
export const refusalTexts: Readonly<Record<string, string>> = localized({
  PULL_REQUEST:
    'A run for a pull request or a merge queue is never trusted: run the workflow by a push to the branch, by hand or on a schedule.',
  CONTEXT_REFUSED:
    'The event or the ref of the run can never be trusted: run it from a branch, by a push, by hand or on a schedule.',
  IDENTITY_MISMATCH:
    'The job is not the approved one: run the approved workflow on its branch, event and environment, or verify this one.',
  IDENTITY_RENAMED:
    'Repository or owner have another name under the same id: if that was intended, verify the workflow again.',
  ISSUER_CHANGED:
    'The name of the issuer stands for another issuer now: the operator restores it, or the workflow is verified again.',
  CONNECTION_DISABLED: 'The connection is disabled.',
  CONNECTION_DELETED: 'The connection was deleted: verify the workflow again.',
  ACCOUNT_DISABLED: 'The service account is disabled or deleted.',
  NO_PERMISSION_LEFT: 'The service account has none of the approved permissions any more.',
  BAD_ASSERTION: 'The identity token is not valid.',
  'BAD_ASSERTION TOO_LARGE': 'The identity token is larger than any platform makes one.',
  'BAD_ASSERTION MALFORMED': 'What was sent is not an identity token of the platform.',
  'BAD_ASSERTION WRONG_ALGORITHM': 'The identity token is not signed with RS256.',
  'BAD_ASSERTION MISSING_CLAIM': 'The identity token lacks a claim that every token must have.',
  'BAD_ASSERTION WRONG_ISSUER': 'The identity token is of another issuer: was it another platform?',
  'BAD_ASSERTION WRONG_AUDIENCE':
    'The identity token is for another audience: compare SVC_AUDIENCE, or the audience in the step.',
  'BAD_ASSERTION EXPIRED': 'The identity token had expired: run the job again for a fresh one.',
  'BAD_ASSERTION NOT_YET_VALID':
    'The identity token was not valid yet: a clock is wrong, here or at the platform.',
  'BAD_ASSERTION TOO_OLD':
    'The identity token was older than ten minutes: ask for it right before it is used.',
  'BAD_ASSERTION UNKNOWN_KEY':
    'The identity token is signed with a key that the platform does not list.',
  'BAD_ASSERTION BAD_SIGNATURE': 'The signature of the identity token does not fit it.',
  'BAD_ASSERTION REPLAYED':
    'The identity token was used before: each attempt needs a fresh one, so run the job again.',
  'BAD_ASSERTION BEFORE_RESTORE':
    'The identity token was made before a backup was restored here: run the job again.',
});

/** The sentence for a code; one that this version does not know is shown as it is. */
export function refusalText(code: string): string {
  return refusalTexts[code] ?? refusalTexts[code.split(' ')[0] ?? ''] ?? code;
}
