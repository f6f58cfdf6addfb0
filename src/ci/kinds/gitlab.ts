/**
 * Claim map of GitLab CI/CD (docs.gitlab.com, "ID token authentication"). The pipeline of a merge
 * request may run a fork's code inside the target project; only `pipeline_source` reveals it.
 */
import { type ClaimMap, foldName, isBelow, type ReadClaim, type Review } from '../claim-map.ts';

const SOURCES = ['push', 'web', 'schedule'];

export const gitlabClaims: ClaimMap = {
  required: [
    'project_id',
    'namespace_id',
    'project_path',
    'namespace_path',
    'ci_config_ref_uri',
    'ref',
    'ref_type',
    'pipeline_source',
    'runner_environment',
  ],
  orAbsent: ['environment'],
  ifPresent: ['ref_path'],
  owner: ['project_id', 'namespace_id'],
  names: ['project_path', 'namespace_path'],
  nullable: ['ci_config_ref_uri', 'ref_path'],
  whyAbsent: {
    ci_config_ref_uri:
      'GitLab writes null unless the pipeline is defined in the project itself. Define it there: a ' +
      'definition in another project or at a URL, and Auto DevOps, cannot be trusted',
  },
  run: 'pipeline_id',
  recorded: [
    'user_id',
    'user_login',
    'user_access_level',
    'sha',
    'ci_config_sha',
    'pipeline_id',
    'job_id',
    'job_source',
    'runner_id',
    'ref_protected',
    'project_visibility',
    'environment_protected',
    'deployment_tier',
  ],
  unbound: {
    user_email: 'personal data, and not an identity, because an address can change',
    user_identities: 'other accounts of the person who started the job',
    groups_direct: 'groups of the person who started the job, not of the project',
    environment_action: 'the action of the job on the environment, which is bound by its name',
    deployment_action: 'the action of the job on the environment, which is bound by its name',
    'job_*': 'details of the job; its pipeline is bound',
  },
  rules: [
    {
      claim: 'pipeline_source',
      accepts: (value) => SOURCES.includes(value),
      why: `Accepted sources of a pipeline are ${SOURCES.join(', ')}. Merge requests are never accepted`,
    },
    {
      claim: 'ref_type',
      accepts: (value) => value === 'branch',
      why: 'The pipeline must run from a branch',
    },
    {
      claim: 'ref',
      accepts: (value) => !value.startsWith('refs/'),
      why: 'The pipeline must run from a branch by its name. Merge refs are never trusted',
    },
    {
      claim: 'ref_path',
      accepts: (value) => value.startsWith('refs/heads/'),
      why: 'The pipeline must run from a branch. Merge refs and tags are never trusted',
    },
    {
      claim: 'project_path',
      accepts: (value, read) => isBelow(value, read('namespace_path')),
      why: 'The project must belong to its namespace',
    },
    {
      claim: 'job_project_id',
      accepts: (value, read) => value === read('project_id'),
      why: 'The job must run in the project itself. Pipelines of a fork are never trusted',
    },
  ],
  review,
};

function review(read: ReadClaim): Review {
  const warnings: string[] = [];
  const definition = read('ci_config_ref_uri');
  const own = foldName(`/${read('project_path')}//`);
  if (definition !== null && !foldName(definition).includes(own)) {
    warnings.push(
      'The pipeline is defined in another project. Anyone who may change that project can change what runs',
    );
  }
  if (read('ref_protected') !== 'true') {
    warnings.push(
      'The branch is not protected. Anyone who may push to it can change what the pipeline does',
    );
  }
  if (read('project_visibility') === 'public') {
    warnings.push('The project is public. Anyone may read its job logs');
  }
  if (read('runner_environment') === 'self-hosted') {
    warnings.push('The job ran on a self-hosted runner. Other jobs may have left something there');
  }
  return { warnings };
}
