/**
 * Claim map of CircleCI (circleci.com/docs, "Using OpenID Connect tokens in jobs"). Each
 * organisation has its own issuer. A user who re-runs a job with SSH can read its token in a shell,
 * so such a run is never trusted. Tokens have neither `jti` nor `nbf`.
 */
import type { ClaimMap } from '../claim-map.ts';

const P = 'oidc.circleci.com/';

export const circleciClaims: ClaimMap = {
  required: [`${P}org-id`, `${P}project-id`, `${P}vcs-origin`, `${P}vcs-ref`, `${P}ssh-rerun`],
  orAbsent: [],
  ifPresent: [`${P}pipeline-definition-id`],
  owner: [`${P}org-id`, `${P}project-id`],
  names: [`${P}vcs-origin`],
  run: `${P}workflow-id`,
  recorded: [`${P}context-ids`, `${P}job-id`, `${P}workflow-id`, `${P}pipeline-id`],
  unbound: {
    [`${P}user-id`]: 'who started the job',
    [`${P}user`]: 'who started the job',
  },
  booleans: [`${P}ssh-rerun`],
  rules: [
    {
      claim: `${P}ssh-rerun`,
      accepts: (value) => value === 'false',
      why: 'A job that was run again with SSH is never trusted. Run the pipeline again without it',
    },
    {
      claim: `${P}vcs-ref`,
      accepts: (value) => value.startsWith('refs/heads/'),
      why: 'The job must run from a branch. Pull requests and tags are never trusted',
    },
    {
      claim: `${P}vcs-ref`,
      // A fork's pull request is built as a branch that the repository does not have.
      accepts: (value) => !/^refs\/heads\/(pull|merge-requests|gh-readonly-queue)\//.test(value),
      why: 'The job must run from a branch. Pull requests and merge queues are never trusted',
    },
  ],
  review: () => ({
    warnings: [
      'The token does not tell what started the pipeline. Everyone who may start one on this ' +
        'branch can use the trust',
    ],
  }),
};
