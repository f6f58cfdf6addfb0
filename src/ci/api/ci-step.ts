/**
 * Text of the temporary workflow step that proves an identity. It needs only bash and curl, which
 * every runner has. It never traces, keeps secrets out of arguments (which other processes can
 * read), and masks the identity token before anything can print it.
 */

export interface StepOptions {
  /** Kind of CI platform; undefined = unknown. */
  readonly platform: string | undefined;
  /** Origin of the API, without a trailing slash. */
  readonly origin: string;
  readonly setupId: string;
  readonly audience: string;
}

/**
 * The step for the platform. For an unknown platform, a script that reads the token from
 * `SVC_ASSERTION`.
 */
export function workflowStep(options: StepOptions): string {
  const { platform = '' } = options;
  const step = STEPS[platform] ?? anyStep;
  return `${step(options).join('\n')}\n`;
}

type Step = (options: StepOptions) => string[];

const githubStep: Step = (options) => [
  '- name: Prove the identity of this workflow (remove after the approval)',
  '  shell: bash',
  '  env:',
  `    SVC_SETUP_CODE: \${{ secrets.SVC_SETUP_CODE }}`,
  '  run: |',
  ...indented(4, [...opening(options), ...githubToken(options), ...submission]),
];

const gitlabStep: Step = (options) => [
  'prove-identity:',
  '  id_tokens:',
  '    SVC_ASSERTION:',
  `      aud: '${options.audience}'`,
  '  script:',
  '    - |',
  ...indented(6, ["bash <<'STEP'", ...opening(options), ...givenToken, ...submission, 'STEP']),
];

const buildkiteStep: Step = (options) => [
  '- label: Prove the identity of this pipeline (remove after the approval)',
  '  command: |',
  ...indented(
    4,
    [
      'set +x',
      // Buildkite adds the two bound ids to a token only on request.
      `export SVC_ASSERTION="$(buildkite-agent oidc request-token --audience '${options.audience}' \\`,
      '  --claim organization_id --claim pipeline_id)"',
      "bash <<'STEP'",
      ...opening(options),
      ...givenToken,
      ...submission,
      'STEP',
      // Doubled, because the upload of a pipeline expands variables itself.
    ].map((line) => line.replaceAll('$', '$$$$')),
  ),
];

const circleciStep: Step = (options) => [
  '- run:',
  '    name: Prove the identity of this job (remove after the approval)',
  '    command: |',
  ...indented(6, [
    ...opening(options),
    `SVC_ASSERTION="$(circleci run oidc get --claims '{"aud": "${options.audience}"}')"`,
    ...givenToken,
    ...submission,
  ]),
];

const anyStep: Step = (options) => [
  '# Runs inside the job. SVC_SETUP_CODE: the pairing code, from a secret. SVC_ASSERTION: an',
  `# identity token of the platform for the audience ${options.audience}`,
  ...opening(options),
  ...givenToken,
  ...submission,
];

const STEPS: Readonly<Record<string, Step>> = {
  github: githubStep,
  gitlab: gitlabStep,
  buildkite: buildkiteStep,
  circleci: circleciStep,
};

const opening = ({ origin, setupId }: StepOptions): string[] =>
  lines(`
set +x
set -eu
origin='${origin}'
setup_id='${setupId}'
fail() { echo "::error title=Identity not proved::$1"; exit 1; }
code="\${SVC_SETUP_CODE:-}"
code="\${code//[[:space:]]/}"
if [ -z "$code" ]; then
  fail "SVC_SETUP_CODE is empty: store the pairing code as a secret of that name. Runs for pull requests from forks see no secrets"
fi
case "$code" in *[!0-9A-Za-z_]*) fail "SVC_SETUP_CODE is not a pairing code: copy it again" ;; esac
`);

const githubToken = ({ audience }: StepOptions): string[] =>
  lines(`
if [ -z "\${ACTIONS_ID_TOKEN_REQUEST_URL:-}" ] || [ -z "\${ACTIONS_ID_TOKEN_REQUEST_TOKEN:-}" ]; then
  fail "This job may not ask for an identity token: add 'id-token: write' to the 'permissions' of the job. Runs for pull requests from forks never may"
fi
# The audience is ${audience}
audience='${encodeURIComponent(audience)}'
reply="$(printf 'url = "%s&audience=%s"\\nheader = "Authorization: Bearer %s"\\n' "$ACTIONS_ID_TOKEN_REQUEST_URL" "$audience" "$ACTIONS_ID_TOKEN_REQUEST_TOKEN" |
  curl -q --silent --show-error --fail --max-time 30 --retry 3 --config -)" || fail "The CI platform gave no identity token"
value='"value"[[:space:]]*:[[:space:]]*"([^"]+)"'
[[ $reply =~ $value ]] || fail "The CI platform answered without an identity token"
token="\${BASH_REMATCH[1]}"
echo "::add-mask::$token"
`);

const givenToken = lines(`
token="\${SVC_ASSERTION:-}"
[ -n "$token" ] || fail "There is no identity token in SVC_ASSERTION: the job must ask its platform for one"
`);

const submission = lines(`
reply="$(printf '{"setupId":"%s","pairingCode":"%s","assertion":"%s"}' "$setup_id" "$code" "$token" |
  curl -q --silent --show-error --max-time 60 --data-binary @- --write-out '\\n%{http_code}' \\
    --header 'Content-Type: application/json' --header 'Connect-Protocol-Version: 1' \\
    "$origin/svc.iam.v1.AutomationService/SubmitCiVerification")" || fail "$origin does not answer"
status="\${reply##*$'\\n'}"
if [ "$status" != 200 ]; then
  message='"message":"(([^"\\\\]|\\\\.)*)"'
  if [[ $reply =~ $message ]]; then fail "HTTP $status: \${BASH_REMATCH[1]}"; fi
  fail "HTTP $status"
fi
echo "Observed, and waiting for review. Nothing is granted yet."
claim='"claim":"([^"]+)","value":"([^"]*)"'
while [[ $reply =~ $claim ]]; do
  echo "  \${BASH_REMATCH[1]}: \${BASH_REMATCH[2]}"
  reply="\${reply#*"\${BASH_REMATCH[0]}"}"
done
`);

function lines(text: string): string[] {
  return text.trim().split('\n');
}

function indented(columns: number, texts: readonly string[]): string[] {
  return texts.map((text) => ' '.repeat(columns) + text);
}
