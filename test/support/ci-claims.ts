/** Claims of a genuine identity token for each kind of CI platform. */
import type { IssuerKindName } from '../../src/platform/settings/ci-issuers.ts';
import { githubClaims } from './ci-issuer.ts';

type Claims = Readonly<Record<string, unknown>>;

/**
 * Claims by kind, for `issuer` and a time in Unix seconds. Each call is another job: tokens of
 * Buildkite and CircleCI have no `jti`, so two tokens of one job from the same second would be
 * equal.
 */
export function genuineClaims(
  issuedSeconds: number,
  issuer: string,
): Readonly<Record<IssuerKindName, Claims>> {
  const times = { exp: issuedSeconds + 300, iat: issuedSeconds, nbf: issuedSeconds };
  const jwt = { ...times, iss: issuer, aud: 'a', sub: 'whoever' };
  return {
    github: githubClaims(issuedSeconds, issuer),
    gitlab: {
      ...jwt,
      jti: crypto.randomUUID(),
      namespace_id: '72',
      namespace_path: 'group',
      project_id: '20',
      project_path: 'group/project',
      project_visibility: 'private',
      user_id: '1',
      user_login: 'sam',
      user_email: 'sam@example.com',
      user_access_level: 'developer',
      user_identities: [{ provider: 'github', extern_uid: '2435223452345' }],
      pipeline_id: '574',
      pipeline_source: 'push',
      job_id: '302',
      job_source: 'push',
      job_project_id: '20',
      job_project_path: 'group/project',
      job_namespace_id: '72',
      ref: 'main',
      ref_type: 'branch',
      ref_path: 'refs/heads/main',
      ref_protected: 'true',
      groups_direct: ['group'],
      environment: 'production',
      environment_protected: 'true',
      deployment_tier: 'production',
      environment_action: 'start',
      runner_id: 1,
      runner_environment: 'gitlab-hosted',
      sha: 'abc',
      ci_config_sha: 'abc',
      ci_config_ref_uri: 'gitlab.example/group/project//.gitlab-ci.yml@refs/heads/main',
    },
    buildkite: {
      ...jwt,
      organization_slug: 'acme',
      pipeline_slug: 'app',
      organization_id: 'o-1',
      pipeline_id: 'p-1',
      build_number: 1,
      build_branch: 'main',
      build_commit: 'abc',
      build_tag: null,
      step_key: 'deploy',
      job_id: crypto.randomUUID(),
      agent_id: 'a-1',
      build_source: 'webhook',
      runner_environment: 'buildkite-hosted',
      'agent_tag:queue': 'default',
    },
    circleci: {
      ...jwt,
      'oidc.circleci.com/org-id': 'o-1',
      'oidc.circleci.com/project-id': 'p-1',
      'oidc.circleci.com/context-ids': ['c-1', 'c-2'],
      'oidc.circleci.com/job-id': crypto.randomUUID(),
      'oidc.circleci.com/pipeline-definition-id': 'd-1',
      'oidc.circleci.com/pipeline-id': 'l-1',
      'oidc.circleci.com/workflow-id': 'w-1',
      'oidc.circleci.com/vcs-origin': 'github.com/acme/app',
      'oidc.circleci.com/vcs-ref': 'refs/heads/main',
      'oidc.circleci.com/ssh-rerun': false,
    },
  };
}
