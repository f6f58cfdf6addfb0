/**
 * The meaning of each CI platform's tokens: the claims that are bound, those kept for review, the
 * contexts that are rejected whatever was approved, and the warnings to a reviewer.
 */
import { test } from 'tap';
import { type ClaimMap, jwtClaims, readIdentity, unknownClaims } from '../../src/ci/claim-map.ts';
import { issuerKinds } from '../../src/ci/issuer-kinds.ts';
import type { IssuerKindName } from '../../src/platform/settings/ci-issuers.ts';
import { genuineClaims } from '../support/ci-claims.ts';
import type { ClaimChanges } from '../support/ci-issuer.ts';

const ISSUER = 'https://issuer.example';
const genuine = genuineClaims(1, ISSUER);
const kinds = Object.keys(issuerKinds) as readonly IssuerKindName[];

function changed(kind: IssuerKindName, changes: ClaimChanges = {}) {
  const payload = { ...genuine[kind], ...changes };
  return Object.fromEntries(Object.entries(payload).filter(([, value]) => value !== undefined));
}

const read = (kind: IssuerKindName, changes?: ClaimChanges) =>
  readIdentity(issuerKinds[kind].claims, changed(kind, changes));

/** Names of the claims for which a token is rejected. */
const refusedFor = (kind: IssuerKindName, changes?: ClaimChanges) =>
  read(kind, changes).refused.map(({ claim }) => claim);

test('a genuine token of each kind is accepted, and all of its claims are known', async (t) => {
  for (const kind of kinds) {
    t.same(refusedFor(kind), [], kind);
    t.same(unknownClaims(issuerKinds[kind].claims, changed(kind)), [], kind);
    t.same(unknownClaims(issuerKinds[kind].claims, changed(kind, { brand_new: 1 })), ['brand_new']);
  }
});

test('CI-05: GitHub ids, names, workflow, branch, event, environment and runner are bound', async (t) => {
  const workflow = 'octo-org/octo-repo/.github/workflows/deploy.yml@refs/heads/main';
  const { bound, ownerClaims, recorded, warnings } = read('github');
  t.same(bound, {
    repository_id: '74',
    repository_owner_id: '65',
    repository: 'octo-org/octo-repo',
    repository_owner: 'octo-org',
    workflow_ref: workflow,
    job_workflow_ref: workflow,
    ref: 'refs/heads/main',
    ref_type: 'branch',
    head_ref: '',
    base_ref: '',
    event_name: 'push',
    runner_environment: 'github-hosted',
    environment: null,
  });
  t.same(ownerClaims, ['repository_id', 'repository_owner_id']);
  t.same(warnings, []);
  t.match(recorded, {
    actor: 'octocat',
    actor_id: '12',
    run_id: '22259804324',
    run_attempt: '1',
    check_run_id: '90000001',
    sha: /^5f8d/,
    workflow_sha: /^5f8d/,
    job_workflow_sha: /^5f8d/,
    ref_protected: 'true',
    repository_visibility: 'private',
    enterprise: null,
  });
  t.same(
    Object.keys(recorded).filter((claim) => claim in bound),
    [],
    'each claim is in one list',
  );
});

test('CI-05: an environment is bound by name, an enterprise only where present', async (t) => {
  t.equal(read('github', { environment: 'production' }).bound.environment, 'production');
  t.equal(read('github', { environment: '' }).bound.environment, '', 'not the same as absent');
  t.equal(read('github', { enterprise_id: '2' }).bound.enterprise_id, '2');
  t.notOk('enterprise_id' in read('github').bound);
  t.equal(read('gitlab', { environment: undefined }).bound.environment, null);
});

test('CI-01: the sub claim is never read', async (t) => {
  for (const kind of kinds) {
    const { claims } = issuerKinds[kind];
    const used = [...claims.required, ...claims.orAbsent, ...claims.ifPresent, ...claims.recorded];
    t.notOk(used.includes('sub'), kind);
    for (const sub of [undefined, 'repo:evil/evil:ref:refs/heads/main', 7, { a: 1 }]) {
      t.same(read(kind, { sub }), read(kind), `${kind} ${sub}`);
    }
  }
});

test('CI-13: every claim of a kind is in one list, and ignored claims have a reason', async (t) => {
  for (const kind of kinds) {
    const { required, orAbsent, ifPresent, owner, recorded, unbound } = issuerKinds[kind].claims;
    const all = [...required, ...orAbsent, ...ifPresent, ...Object.keys(unbound)];
    const listed = [...all, ...recorded, ...Object.keys(jwtClaims)];
    t.equal(new Set(listed).size, listed.length, kind);
    t.ok(owner.length >= 2 && owner.every((claim) => required.includes(claim)), kind);
    t.ok(
      Object.values(unbound).every((reason) => reason.length > 10),
      kind,
    );
  }
});

test('a token without a required bound claim is rejected with its name', async (t) => {
  for (const kind of kinds) {
    for (const claim of issuerKinds[kind].claims.required) {
      const { refused } = read(kind, { [claim]: undefined });
      t.match(
        refused.filter((one) => one.claim === claim),
        [{ claim, got: null }],
        `${kind} ${claim}`,
      );
    }
  }
});

test('CI-05: a bound claim that is not text invalidates the token', async (t) => {
  for (const kind of kinds) {
    const {
      required,
      orAbsent,
      ifPresent,
      booleans = [],
      nullable = [],
    }: ClaimMap = issuerKinds[kind].claims;
    for (const claim of [...required, ...orAbsent, ...ifPresent]) {
      const values = booleans.includes(claim) ? ['false', 0] : [7, true, ['a'], { a: 1 }];
      for (const value of nullable.includes(claim) ? values : [...values, null]) {
        const wrong = { name: 'Refusal', reason: 'BAD_ASSERTION', metadata: { claim } };
        t.throws(() => read(kind, { [claim]: value }), wrong, `${kind} ${claim}`);
      }
    }
  }
});

test('null counts as absent only if the platform writes it for absent values', async (t) => {
  const noEnvironment = {
    name: 'Refusal',
    reason: 'BAD_ASSERTION',
    metadata: { claim: 'environment' },
  };
  t.throws(() => read('github', { environment: null }), noEnvironment);
  t.throws(() => read('gitlab', { environment: null }), noEnvironment);
  t.throws(() => read('github', { enterprise_id: null }), {
    name: 'Refusal',
    metadata: { claim: 'enterprise_id' },
  });
  const nulls = read('buildkite', { build_tag: null, step_key: null, cluster_id: null });
  t.match(nulls.bound, { build_tag: null, step_key: null });
  t.notOk('cluster_id' in nulls.bound);
  t.equal(read('github', { actor: null }).recorded.actor, null, 'no decision depends on it');
  t.throws(() => read('github', { environment: null }), { message: /environment is null instead/ });
});

test('GitLab: a pipeline that is defined elsewhere is rejected for that reason', async (t) => {
  const { refused, warnings } = read('gitlab', { ci_config_ref_uri: null, ci_config_sha: null });
  t.match(refused, [{ claim: 'ci_config_ref_uri', got: null, why: /defined in the project/ }]);
  t.same(warnings, [], 'the reason is given once');
  const { bound } = read('gitlab', { ref_path: null });
  t.notOk('ref_path' in bound);
  t.same(read('gitlab', { ref_path: null }).refused, [], 'as from servers that do not send it');
});

test('names of owners and repositories are compared without regard to case', async (t) => {
  const shared = (owner: string) => `${owner}/shared/.github/workflows/w.yml@refs/heads/main`;
  const use = (owner: string) => read('github', { job_workflow_ref: shared(owner) });
  const own = use('Octo-ORG');
  t.same(own.warnings, []);
  t.notOk('job_workflow_sha' in own.bound);
  t.equal(own.bound.job_workflow_ref, shared('Octo-ORG'), 'bound as it was observed');
  t.match(use('\u212Aocto-org').warnings, [/another owner/]);
  // The Kelvin sign folds to a K outside ASCII.
  const kelvin = { repository: 'Kube/app', repository_owner: '\u212Aube' };
  t.ok(refusedFor('github', kelvin).includes('repository'));
  const workflow_ref = 'Octo-Org/Octo-Repo/.github/workflows/deploy.yml@refs/heads/main';
  t.same(refusedFor('github', { workflow_ref, job_workflow_ref: workflow_ref }), []);
  t.same(refusedFor('github', { repository_owner: 'OCTO-org' }), []);
  t.same(refusedFor('gitlab', { namespace_path: 'Group' }), []);
  const ci_config_ref_uri = 'gitlab.example/Group/Project//.gitlab-ci.yml@refs/heads/main';
  t.same(read('gitlab', { ci_config_ref_uri }).warnings, []);
});

test('Branches of merge queues and pull requests are rejected, pushed or not', async (t) => {
  const github = ['refs/heads/gh-readonly-queue/main/pr-7-5f8d3c1b'];
  for (const ref of github) t.same(refusedFor('github', { ref }), ['ref'], ref);
  const vcsRef = 'oidc.circleci.com/vcs-ref';
  for (const name of ['pull/7', 'pull/7/head', 'gh-readonly-queue/main/pr-7', 'merge-requests/7']) {
    t.same(refusedFor('circleci', { [vcsRef]: `refs/heads/${name}` }), [vcsRef], name);
    t.same(refusedFor('buildkite', { build_branch: name }), ['build_branch'], name);
  }
  for (const ref of ['refs/pull/7/head', 'refs/merge-requests/7/head', 'refs/tags/v1']) {
    t.same(refusedFor('buildkite', { build_branch: ref }), ['build_branch'], ref);
  }
  const inherited = { ref: 'refs/merge-requests/7/head', ref_path: undefined };
  t.same(refusedFor('gitlab', inherited), ['ref'], 'from a server that does not send ref_path');
  for (const name of ['pulls/7', 'fix/pull/7', 'gh-readonly-queued']) {
    t.same(refusedFor('github', { ref: `refs/heads/${name}` }), [], `${name} is a branch`);
    t.same(refusedFor('circleci', { [vcsRef]: `refs/heads/${name}` }), [], name);
    t.same(refusedFor('buildkite', { build_branch: name }), [], name);
    t.same(refusedFor('gitlab', { ref: name }), [], name);
  }
});

test('Names that accompany the owner’s ids are bound claims', async (t) => {
  const names = (kind: IssuerKindName) => read(kind).nameClaims;
  t.same(names('github'), ['repository', 'repository_owner']);
  t.same(names('gitlab'), ['project_path', 'namespace_path']);
  t.same(names('buildkite'), ['organization_slug', 'pipeline_slug']);
  t.same(names('circleci'), ['oidc.circleci.com/vcs-origin']);
  for (const kind of kinds) {
    t.ok(names(kind).every((claim) => issuerKinds[kind].claims.required.includes(claim as never)));
  }
});

test('CI-08: recorded claims may have any type and are kept short', async (t) => {
  t.equal(read('github', { actor: { a: [1] } }).recorded.actor, '{"a":[1]}');
  t.equal(read('gitlab').recorded.runner_id, '1');
  t.equal(read('circleci').recorded['oidc.circleci.com/context-ids'], '["c-1","c-2"]');
  const { actor = '' } = read('github', { actor: 'x'.repeat(10_000) }).recorded;
  t.equal(actor?.length, 256);
});

test('CI-07: push, workflow_dispatch and schedule are accepted from GitHub', async (t) => {
  for (const event_name of ['push', 'workflow_dispatch', 'schedule']) {
    t.same(refusedFor('github', { event_name }), [], event_name);
    t.equal(read('github', { event_name }).bound.event_name, event_name, 'as observed');
  }
});

test('CI-07: every other GitHub event is rejected, even with the branch’s own ref', async (t) => {
  const events = [
    'pull_request',
    'pull_request_target',
    'pull_request_review',
    'merge_group',
    'workflow_run',
    'issue_comment',
    'issues',
    'workflow_call',
    'repository_dispatch',
    'release',
    'create',
    'delete',
    'deployment',
    'check_suite',
    'fork',
    'watch',
    'dynamic',
    '',
    'Push',
    'push ',
    'push\n',
    'pushed',
  ];
  for (const event_name of events) {
    const { refused } = read('github', { event_name });
    t.match(refused, [{ claim: 'event_name', got: event_name, why: /push, workflow_dispatch/ }]);
    t.equal(refused.length, 1, JSON.stringify(event_name));
  }
});

test('GitHub: pull requests, tags and merge refs are rejected by each claim that shows them', async (t) => {
  const merge = 'octo-org/octo-repo/.github/workflows/deploy.yml@refs/pull/7/merge';
  const cases: readonly (readonly [string, ClaimChanges])[] = [
    ['ref', { ref: 'refs/pull/7/merge' }],
    ['ref', { ref: 'refs/pull/7/head' }],
    ['ref', { ref: 'refs/tags/v1' }],
    ['ref', { ref: 'main' }],
    ['ref', { ref: ' refs/heads/main' }],
    ['ref_type', { ref_type: 'tag' }],
    ['ref_type', { ref_type: '' }],
    ['head_ref', { head_ref: 'feature' }],
    ['base_ref', { base_ref: 'main' }],
    ['workflow_ref', { workflow_ref: merge }],
    ['job_workflow_ref', { job_workflow_ref: merge }],
  ];
  for (const [claim, changes] of cases) {
    t.same(refusedFor('github', changes), [claim], JSON.stringify(changes));
  }
});

test('GitHub: the workflow belongs to the repository, and the repository to its owner', async (t) => {
  const path = '.github/workflows/deploy.yml@refs/heads/main';
  for (const repository of ['octo-org/other', 'octo-org/octo-repo2', 'evil/octo-org/octo-repo']) {
    const workflow_ref = `${repository}/${path}`;
    t.same(refusedFor('github', { workflow_ref }), ['workflow_ref'], repository);
  }
  const other = refusedFor('github', { repository_owner: 'octo' });
  t.same(other, ['repository']);
});

test('CI-06: a reusable GitHub workflow is trusted as far as its reference', async (t) => {
  const sha = '5f8d3c1b2a0e9f7d6c5b4a39281706f5e4d3c2b1';
  const at = (repository: string, ref: string) => `${repository}/.github/workflows/w.yml@${ref}`;
  const use = (job_workflow_ref: string, changes: ClaimChanges = {}) =>
    read('github', { job_workflow_ref, ...changes });

  const own = use(at('octo-org/shared', 'refs/heads/main'));
  t.same(own.warnings, [], 'the same owner');
  t.equal(own.bound.job_workflow_ref, at('octo-org/shared', 'refs/heads/main'));
  t.same(use(at('other-org/shared', sha)).warnings, [], 'a full commit');

  const loose = use(at('other-org/shared', 'refs/tags/v1'));
  t.same(loose.refused, []);
  t.match(loose.warnings, [/another owner.*commit is bound/]);
  t.equal(loose.bound.job_workflow_sha, sha);
  t.notOk('job_workflow_sha' in loose.recorded);
  for (const ref of [sha.slice(0, 12), sha.toUpperCase(), `${sha}0`, `refs/heads/${sha}`]) {
    const { bound } = use(at('other-org/shared', ref));
    t.equal(bound.job_workflow_sha, sha, `${ref} is not a full commit`);
  }
  t.equal(use(at('octo-organic/shared', 'v1')).bound.job_workflow_sha, sha, 'a longer owner');

  const unknown = use(at('other-org/shared', 'v1'), { job_workflow_sha: undefined });
  t.match(unknown.warnings, [/does not contain the commit/]);
  t.notOk('job_workflow_sha' in read('github').bound, 'not bound where nothing is reused');
});

test('CI-08: a reviewer is warned of risks that GitHub’s claims cannot rule out', async (t) => {
  const warned = (changes: ClaimChanges) => read('github', changes).warnings;
  t.match(warned({ ref_protected: 'false' }), [/not protected/]);
  t.match(warned({ ref_protected: undefined }), [/not protected/], 'absent counts as unprotected');
  t.match(warned({ repository_visibility: 'public' }), [/public/]);
  t.match(warned({ runner_environment: 'self-hosted' }), [/self-hosted/]);
  const all = { ref_protected: 'false', repository_visibility: 'public' };
  t.equal(warned({ ...all, runner_environment: 'self-hosted' }).length, 3);
});

test('CI-16: GitLab project, namespace, pipeline, branch and environment are bound', async (t) => {
  const { bound, ownerClaims, warnings } = read('gitlab');
  t.same(bound, {
    project_id: '20',
    namespace_id: '72',
    project_path: 'group/project',
    namespace_path: 'group',
    ci_config_ref_uri: 'gitlab.example/group/project//.gitlab-ci.yml@refs/heads/main',
    ref: 'main',
    ref_type: 'branch',
    ref_path: 'refs/heads/main',
    pipeline_source: 'push',
    runner_environment: 'gitlab-hosted',
    environment: 'production',
  });
  t.same(ownerClaims, ['project_id', 'namespace_id']);
  t.same(warnings, []);
});

test('GitLab: merge requests, tags, forks and other sources are rejected', async (t) => {
  for (const source of ['push', 'web', 'schedule']) {
    t.same(refusedFor('gitlab', { pipeline_source: source }), [], source);
  }
  const others = ['merge_request_event', 'external_pull_request_event', 'api', 'trigger', 'chat'];
  for (const source of [...others, 'pipeline', 'parent_pipeline', 'external', 'webide', '']) {
    t.same(refusedFor('gitlab', { pipeline_source: source }), ['pipeline_source'], source);
  }
  t.same(refusedFor('gitlab', { ref_type: 'tag' }), ['ref_type']);
  t.same(refusedFor('gitlab', { ref_path: 'refs/merge-requests/1/merge' }), ['ref_path']);
  t.same(refusedFor('gitlab', { ref_path: undefined }), [], 'older servers do not send it');
  t.same(refusedFor('gitlab', { job_project_id: '21' }), ['job_project_id'], 'of a fork');
  t.same(refusedFor('gitlab', { project_path: 'groups/project' }), ['project_path']);
});

test('GitLab: a reviewer is warned of risks that the claims cannot rule out', async (t) => {
  const warned = (changes: ClaimChanges) => read('gitlab', changes).warnings;
  const elsewhere = 'gitlab.example/group/templates//ci.yml@refs/heads/main';
  t.match(warned({ ci_config_ref_uri: elsewhere }), [/another project/]);
  t.match(warned({ ref_protected: 'false' }), [/not protected/]);
  t.match(warned({ project_visibility: 'public' }), [/public/]);
  t.match(warned({ runner_environment: 'self-hosted' }), [/self-hosted/]);
});

test('CI-16: Buildkite organisation, pipeline, branch, step and source are bound', async (t) => {
  t.same(read('buildkite').bound, {
    organization_id: 'o-1',
    pipeline_id: 'p-1',
    organization_slug: 'acme',
    pipeline_slug: 'app',
    build_branch: 'main',
    build_source: 'webhook',
    step_key: 'deploy',
    build_tag: null,
    runner_environment: 'buildkite-hosted',
  });
  t.match(read('buildkite').warnings, [/pull request/]);
  t.match(read('buildkite', { step_key: null }).warnings, [/pull request/, /no key/]);
  const withoutIds = read('buildkite', { organization_id: undefined }).refused;
  t.match(withoutIds, [{ claim: 'organization_id', got: null, why: /--claim organization_id/ }]);
  t.same(refusedFor('buildkite', { build_branch: 'forker:main' }), ['build_branch']);
  t.same(refusedFor('buildkite', { build_branch: '' }), ['build_branch']);
  t.same(refusedFor('buildkite', { build_tag: 'v1' }), ['build_tag']);
  t.same(refusedFor('buildkite', { build_tag: '' }), []);
  for (const source of ['api', 'trigger_job', '']) {
    t.same(refusedFor('buildkite', { build_source: source }), ['build_source'], source);
  }
});

test('CI-16: CircleCI organisation, project, origin and branch are bound, and SSH is rejected', async (t) => {
  const p = 'oidc.circleci.com/';
  t.same(read('circleci').bound, {
    [`${p}org-id`]: 'o-1',
    [`${p}project-id`]: 'p-1',
    [`${p}ssh-rerun`]: 'false',
    [`${p}vcs-origin`]: 'github.com/acme/app',
    [`${p}vcs-ref`]: 'refs/heads/main',
    [`${p}pipeline-definition-id`]: 'd-1',
  });
  t.match(read('circleci').warnings, [/does not tell what started/]);
  t.same(refusedFor('circleci', { [`${p}ssh-rerun`]: true }), [`${p}ssh-rerun`]);
  t.same(refusedFor('circleci', { [`${p}ssh-rerun`]: undefined }), [`${p}ssh-rerun`]);
  for (const ref of ['refs/pull/7/head', 'refs/tags/v1', 'main']) {
    t.same(refusedFor('circleci', { [`${p}vcs-ref`]: ref }), [`${p}vcs-ref`], ref);
  }
});
