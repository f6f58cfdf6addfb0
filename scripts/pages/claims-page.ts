/** Generator of docs/ci-claims.md, which lists the use of every claim of each platform. */

import { type ClaimMap, jwtClaims } from '../../src/ci/claim-map.ts';
import { issuerKinds } from '../../src/ci/issuer-kinds.ts';
import type { IssuerKindName } from '../../src/platform/settings/ci-issuers.ts';

const titles: Readonly<Record<IssuerKindName, string>> = {
  github: 'GitHub Actions',
  gitlab: 'GitLab CI/CD',
  buildkite: 'Buildkite',
  circleci: 'CircleCI',
};

/** The whole page. */
export function claimsPage(): string {
  const kinds = Object.entries(issuerKinds) as [IssuerKindName, { claims: ClaimMap }][];
  return [
    '# Claims of CI identity tokens',
    '',
    'Claims that a trust binds, that are recorded for review and audit, and that are not used, by',
    'platform. A claim that is in none of the tables is unknown to this version: it is counted in',
    '`svc_ci_unknown_claims_total` and logged once. Generated from `src/ci/kinds` by `npm run generate`.',
    '',
    'In every token:',
    '',
    ...tableOf(Object.entries(jwtClaims)),
    '',
    ...kinds.flatMap(([kind, { claims }]) => [`## ${titles[kind]}`, '', ...sectionOf(claims), '']),
  ].join('\n');
}

function sectionOf(claims: ClaimMap): string[] {
  const ids = new Set(claims.owner);
  const named = (names: readonly string[], text: string) => names.map((name) => [name, text]);
  return [
    ...tableOf([
      ...claims.required.map((name) => [
        name,
        ids.has(name) ? 'bound: an id of the owner' : 'bound',
      ]),
      ...named(claims.orAbsent, 'bound, even if absent'),
      ...named(claims.ifPresent, 'bound if the approved token has it'),
      ...claims.recorded.map((name) => [name, keptFor(claims, name)]),
      ...Object.entries(claims.unbound).map(([name, reason]) => [name, `not used: ${reason}`]),
    ]),
    '',
    'Rules that apply to every approval:',
    '',
    ...claims.rules.map(({ claim, why }) => `- \`${claim}\`: ${why}`),
  ];
}

function keptFor({ boundWhen }: ClaimMap, name: string): string {
  const when = boundWhen?.[name];
  return `recorded for review and audit${when === undefined ? '' : `; bound ${when}`}`;
}

function tableOf(rows: readonly (readonly string[])[]): string[] {
  const lines = rows.map(([claim, use]) => `| \`${claim}\` | ${use} |`);
  return ['| claim | use |', '| --- | --- |', ...lines];
}
