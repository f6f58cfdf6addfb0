/** docs/ci-claims.md, made from the claim maps: what is done with each claim of each platform. */

import type { IssuerKindName } from '../platform/settings/ci-issuers.ts';
import { type ClaimMap, jwtClaims } from './claim-map.ts';
import { issuerKinds } from './issuer-kinds.ts';

const titles: Readonly<Record<IssuerKindName, string>> = {
  github: 'GitHub Actions',
  gitlab: 'GitLab CI/CD',
  buildkite: 'Buildkite',
  circleci: 'CircleCI',
};

/** The page, whole. */
export function claimsPage(): string {
  const kinds = Object.entries(issuerKinds) as [IssuerKindName, { claims: ClaimMap }][];
  return [
    '# Claims of CI identity tokens',
    '',
    'What a trust binds, what is kept for review and audit, and what is left alone, for each platform.',
    'A claim in none of the tables is new to this version: it is counted in `svc_ci_unknown_claims_total`',
    'and told once in the log. Made from `src/ci/kinds` by `npm run generate`.',
    '',
    'Of every token:',
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
        ids.has(name) ? 'bound: an id that says whose it is' : 'bound',
      ]),
      ...named(claims.orAbsent, 'bound, and so is its absence'),
      ...named(claims.ifPresent, 'bound where the approved token has it'),
      ...claims.recorded.map((name) => [name, keptFor(claims, name)]),
      ...Object.entries(claims.unbound).map(([name, reason]) => [name, `left alone: ${reason}`]),
    ]),
    '',
    'Rules that no approval lifts:',
    '',
    ...claims.rules.map(({ claim, why }) => `- \`${claim}\`: ${why}`),
  ];
}

function keptFor({ boundWhen }: ClaimMap, name: string): string {
  const when = boundWhen?.[name];
  return `kept for review and audit${when === undefined ? '' : `; bound ${when}`}`;
}

function tableOf(rows: readonly (readonly string[])[]): string[] {
  const lines = rows.map(([claim, use]) => `| \`${claim}\` | ${use} |`);
  return ['| claim | what is done with it |', '| --- | --- |', ...lines];
}
