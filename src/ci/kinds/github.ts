/**
 * Claim map of GitHub Actions (docs.github.com, "OpenID Connect reference"). Accepted events are an
 * allow-list, because `pull_request_target`, `workflow_run` and `issue_comment` carry the default
 * branch's ref, and only the event's name distinguishes them from a push.
 */
import { type ClaimMap, isBelow, type ReadClaim, type Review } from '../claim-map.ts';

const EVENTS = ['push', 'workflow_dispatch', 'schedule'];
const isEmpty = (value: string): boolean => value === '';
const isNoPullRequest = (value: string): boolean => !value.includes('@refs/pull/');
const NOT_OF_A_PULL_REQUEST = 'A pull request can never be trusted. Run it from a branch';

export const githubClaims: ClaimMap = {
  required: [
    'repository_id',
    'repository_owner_id',
    'repository',
    'repository_owner',
    'workflow_ref',
    'job_workflow_ref',
    'ref',
    'ref_type',
    'head_ref',
    'base_ref',
    'event_name',
    'runner_environment',
  ],
  orAbsent: ['environment'],
  ifPresent: ['enterprise_id'],
  owner: ['repository_id', 'repository_owner_id'],
  names: ['repository', 'repository_owner'],
  run: 'run_id',
  recorded: [
    'actor',
    'actor_id',
    'sha',
    'run_id',
    'run_number',
    'run_attempt',
    'check_run_id',
    'workflow',
    'workflow_sha',
    'job_workflow_sha',
    'ref_protected',
    'repository_visibility',
    'enterprise',
    'environment_node_id',
  ],
  boundWhen: {
    job_workflow_sha:
      'if the job is in a workflow of another owner that is not named by a full commit',
  },
  unbound: {
    issuer_scope:
      'describes what the issuer is configured for; the issuer itself is matched exactly',
    'repo_property_*':
      'properties that owners of the organisation define and can change at any time',
  },
  rules: [
    {
      claim: 'event_name',
      accepts: (value) => EVENTS.includes(value),
      why: `Accepted events are ${EVENTS.join(', ')}`,
    },
    {
      claim: 'ref_type',
      accepts: (value) => value === 'branch',
      why: 'The workflow must run from a branch',
    },
    {
      claim: 'ref',
      accepts: (value) => value.startsWith('refs/heads/'),
      why: 'The workflow must run from a branch. Merge refs and tags are never trusted',
    },
    {
      claim: 'ref',
      accepts: (value) => !value.startsWith('refs/heads/gh-readonly-queue/'),
      why: 'A merge queue runs code that has not been merged yet, as a push. Run it from a branch of your own',
    },
    { claim: 'head_ref', accepts: isEmpty, why: NOT_OF_A_PULL_REQUEST },
    { claim: 'base_ref', accepts: isEmpty, why: NOT_OF_A_PULL_REQUEST },
    {
      claim: 'repository',
      accepts: (value, read) => isBelow(value, read('repository_owner')),
      why: 'The repository must belong to its owner',
    },
    {
      claim: 'workflow_ref',
      accepts: (value, read) => isBelow(value, read('repository')),
      why: 'The workflow must be in the repository itself',
    },
    { claim: 'workflow_ref', accepts: isNoPullRequest, why: NOT_OF_A_PULL_REQUEST },
    { claim: 'job_workflow_ref', accepts: isNoPullRequest, why: NOT_OF_A_PULL_REQUEST },
  ],
  review,
};

function review(read: ReadClaim): Review {
  const reused = reusedWorkflow(read);
  const warnings = [...reused.warnings];
  if (read('ref_protected') !== 'true') {
    warnings.push(
      'The branch is not protected. Anyone who may push to it can change what the workflow does',
    );
  }
  if (read('repository_visibility') === 'public') {
    warnings.push('The repository is public. Anyone can read its workflow logs');
  }
  if (read('runner_environment') === 'self-hosted') {
    warnings.push('The job ran on a self-hosted runner. Other jobs may have left something there');
  }
  return { ...reused, warnings };
}

/**
 * There is no id for the repository of a reusable workflow. It is trusted if it has the same owner,
 * or if its commit is part of the reference. Otherwise its commit is bound in addition to the
 * reference.
 */
function reusedWorkflow(read: ReadClaim): Review {
  const used = read('job_workflow_ref');
  if (used === null || used === read('workflow_ref')) return { warnings: [] };
  if (isBelow(used, read('repository_owner'))) return { warnings: [] };
  if (/@[0-9a-f]{40}$/.test(used)) return { warnings: [] };
  if (read('job_workflow_sha') !== null) {
    const warning =
      'The job is in a workflow of another owner, named by a branch or tag. Its commit is bound ' +
      'too, so that each change of it requires a new verification. Name a full commit instead';
    return { alsoBound: ['job_workflow_sha'], warnings: [warning] };
  }
  const warning =
    'The job is in a workflow of another owner, named by a branch or tag, and the token does not ' +
    'contain the commit. Its owner can change what runs. Name a full commit instead';
  return { warnings: [warning] };
}
