/**
 * Claim map of Buildkite, for the tokens of `buildkite-agent oidc request-token`
 * (buildkite.com/docs, "Buildkite Agent oidc"). Tokens have the ids of organisation and pipeline
 * only on request, and no `jti`. They do not tell whether a build is for a pull request, except
 * that the branch of a fork is named with a colon.
 */
import type { ClaimMap, ReadClaim, Review } from '../claim-map.ts';

const ASK =
  'Request it: buildkite-agent oidc request-token --claim organization_id --claim pipeline_id';
const SOURCES = ['webhook', 'ui', 'schedule'];

export const buildkiteClaims: ClaimMap = {
  required: [
    'organization_id',
    'pipeline_id',
    'organization_slug',
    'pipeline_slug',
    'build_branch',
    'build_source',
  ],
  whyAbsent: { organization_id: ASK, pipeline_id: ASK },
  orAbsent: ['step_key', 'build_tag', 'runner_environment'],
  ifPresent: ['cluster_id'],
  owner: ['organization_id', 'pipeline_id'],
  names: ['organization_slug', 'pipeline_slug'],
  nullable: ['step_key', 'build_tag', 'cluster_id'],
  run: 'build_number',
  recorded: ['build_commit', 'build_number', 'build_id', 'job_id', 'agent_id', 'cluster_name'],
  unbound: {
    'agent_tag:*': 'reported by the machine that runs the job about itself',
    queue_id: 'where the job waited; the cluster is bound',
    queue_key: 'where the job waited; the cluster is bound',
    'https://aws.amazon.com/tags': 'for another service',
  },
  rules: [
    {
      claim: 'build_source',
      accepts: (value) => SOURCES.includes(value),
      why: `Accepted sources of a build are ${SOURCES.join(', ')}`,
    },
    {
      claim: 'build_branch',
      accepts: (value) => value !== '' && !value.includes(':'),
      why: 'The build must be for a branch of the repository itself. Forks are never trusted',
    },
    {
      claim: 'build_branch',
      accepts: (value) => !/^(refs|pull|merge-requests|gh-readonly-queue)\//.test(value),
      why: 'The build must be for a branch. Pull requests and merge queues are never trusted',
    },
    {
      claim: 'build_tag',
      accepts: (value) => value === '',
      why: 'The build must be for a branch. Tags are never trusted',
    },
  ],
  review,
};

function review(read: ReadClaim): Review {
  const warnings = [
    'The token does not tell whether a build is for a pull request. Check that the pipeline builds ' +
      'none for this branch',
  ];
  if (read('step_key') === null) {
    warnings.push('The step has no key: every step of the pipeline without one can take its place');
  }
  return { warnings };
}
