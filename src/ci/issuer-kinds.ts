/** Kinds of CI platform whose identity tokens are accepted, with the claims of their tokens. */
import type { IssuerKindName } from '../platform/settings/ci-issuers.ts';
import type { ClaimMap } from './claim-map.ts';
import { buildkiteClaims } from './kinds/buildkite.ts';
import { circleciClaims } from './kinds/circleci.ts';
import { githubClaims } from './kinds/github.ts';
import { gitlabClaims } from './kinds/gitlab.ts';

export interface IssuerKind {
  readonly claims: ClaimMap;
  /** Claims among `jti` and `nbf` that its tokens do not have. */
  readonly lacks: readonly ('jti' | 'nbf')[];
}

export const issuerKinds = {
  github: { claims: githubClaims, lacks: [] },
  gitlab: { claims: gitlabClaims, lacks: [] },
  buildkite: { claims: buildkiteClaims, lacks: ['jti'] },
  circleci: { claims: circleciClaims, lacks: ['jti', 'nbf'] },
} as const satisfies Readonly<Record<IssuerKindName, IssuerKind>>;
