/**
 * Every text that a caller can set, found in the descriptors, is rejected if it would break a line
 * or make one name look like another. A new field of a mutating method is either such a text, with
 * a request here, or an id that is validated by its own format.
 */
import { type DescMessage, getOption, ScalarType } from '@bufbuild/protobuf';
import { test } from 'tap';
import { AutomationService } from '../../src/gen/svc/iam/v1/automation_pb.ts';
import { AlertService } from '../../src/gen/svc/monitoring/v1/alert_pb.ts';
import { policy } from '../../src/gen/svc/options/v1/policy_pb.ts';
import { ProjectService } from '../../src/gen/svc/project/v1/project_pb.ts';
import { startRpcWorld } from '../support/api-in-process.ts';
import { cpuSpec } from '../support/rule-spec.ts';

/** Ids, resource names, web addresses, words of closed sets, proofs: each has its own format. */
const OF_A_FORM =
  /^(name|names|(?!displayName)\w+Name|parent|id|\w+Id|expectedVersion|trustName|assertion|pairingCode|claimsDigest|enrolmentToken|issuer|template|datacenter|capabilities(\.values)?|networks|(destination\.)?\w+\.url|spec\.(metricId|vmNames|destinationNames)|destination\.name)$/;
const NOT_HERE = new Set([
  // Part of responses, and not read from requests.
  'destination.pausedReason',
  'destination.host',
  'destination.lastFour',
  'destination.lastDelivery.name',
  'destination.lastDelivery.error',
  'destination.lastError.error',
  'destination.email.recipients.mailProblem',
  'email.recipients.mailProblem',
  // Reported by a guest, for later versions.
  'system',
  // Parsed by the parser of invitation addresses, if there is a mail server.
  'destination.email.recipients.address',
  'email.recipients.address',
]);

const RULE = cpuSpec({ sustainedSeconds: 60 });
const PROJECT = 'projects/demo';
const ACCOUNT = `${PROJECT}/serviceAccounts/acc`;
const webhook = { webhook: { url: 'https://example.com/' } };
const save = (spec: object) => ({
  projectName: PROJECT,
  id: uuid(1),
  expectedVersion: '0',
  spec: { ...RULE, ...spec },
});
const named = (collection: string, more: object) => ({
  name: `${PROJECT}/${collection}/x`,
  ...more,
});

/** A request of the method that is valid except for this text. */
const REQUESTS: Readonly<Record<string, (text: string) => object>> = {
  'SaveAlertRule spec.displayName': (displayName) => save({ displayName }),
  'SaveAlertRule spec.runbookText': (runbookText) => save({ runbookText }),
  'SaveAlertRule spec.runbookUrl': (text) => save({ runbookUrl: `https://example.com/${text}` }),
  'SaveAlertRule spec.labels': (value) => save({ labels: { team: value } }),
  'AcknowledgeIncident note': (note) => named('incidents', { note }),
  'AcknowledgeIncidents note': (note) => ({
    projectName: PROJECT,
    names: [`${PROJECT}/incidents/x`],
    note,
  }),
  'CreateDestination destination.displayName': (displayName) => ({
    projectName: PROJECT,
    destination: { displayName, ...webhook },
  }),
  'UpdateDestination displayName': (displayName) => named('destinations', { displayName }),
  'PauseDestination reason': (reason) => named('destinations', { reason }),
  'CreateServiceAccount displayName': (displayName) => ({
    projectName: PROJECT,
    displayName,
    capabilities: ['monitoring.read'],
  }),
  'UpdateServiceAccount displayName': (displayName) => ({ name: ACCOUNT, displayName }),
  'DisableServiceAccount reason': (reason) => ({ name: ACCOUNT, reason }),
  'CreateKey displayName': (displayName) => ({
    parent: ACCOUNT,
    displayName,
    capabilities: ['monitoring.read'],
  }),
  'RevokeKey reason': (reason) => ({ name: `${ACCOUNT}/keys/x`, reason }),
  'StartCiVerification displayName': (displayName) => ({
    serviceAccountName: ACCOUNT,
    displayName,
    capabilities: ['monitoring.read'],
  }),
  'ApproveCiVerification displayName': (displayName) =>
    named('ciVerifications', { displayName, claimsDigest: 'x' }),
  'RejectCiVerification reason': (reason) => named('ciVerifications', { reason }),
  'UpdateCiConnection displayName': (displayName) => named('ciConnections', { displayName }),
  'DisableCiConnection reason': (reason) => named('ciConnections', { reason }),
  'CreateProject displayName': (displayName) => ({ projectId: 'new', displayName }),
  'InviteMember email': (email) => ({
    projectName: PROJECT,
    email: `${email}@example.com`,
    role: 'VIEWER',
  }),
};

/** Each has one forbidden property. */
const BAD: Readonly<Record<string, string>> = {
  'a carriage return': 'a\rb',
  'a NUL': 'a\0b',
  'an escape sequence': 'a\u001b[2Jb',
  'a line separator': 'a\u2028b',
  'an override': 'a\u202eb',
  'an isolate': 'a\u2066b',
  'a mark of direction': 'a\u200fb',
  'an Arabic letter mark': 'a\u061cb',
  'a zero-width space': 'a\u200bb',
  'a byte order mark': 'a\ufeffb',
  'a tag': 'a\u{e0041}b',
};

test('every text of every mutating method is listed here', async (t) => {
  const found = [AlertService, AutomationService, ProjectService].flatMap(({ methods }) =>
    methods
      .filter((method) => getOption(method, policy).mutation)
      .flatMap(({ name, input }) =>
        [...textFields(input)]
          .filter((path) => !OF_A_FORM.test(path) && !NOT_HERE.has(path))
          .map((path) => `${name} ${path}`),
      ),
  );
  t.same(found.sort(), Object.keys(REQUESTS).sort());
});

test('a text that breaks lines or imitates another name is rejected', async (t) => {
  const world = await startRpcWorld(t, () => ({ projectCreation: 'people' }));
  const person = await world.signedInAs('demo', 'OWNER');
  let requests = 10;
  for (const [field, requestOf] of Object.entries(REQUESTS)) {
    const [method = ''] = field.split(' ');
    for (const [what, text] of Object.entries(BAD)) {
      const request = { ...requestOf(text), requestId: uuid(++requests) };
      const { status, reason, metadata } = await world.call(method, request, { person });
      t.same([status, reason], [400, 'INVALID_FIELD'], `${field}: ${what}`);
      t.match(metadata.field, /displayName|reason|note|labels|email|runbook/, `${field}: ${what}`);
    }
  }
});

/** Paths of the strings in a message; nested ones after a dot. */
function* textFields(message: DescMessage, before = ''): Generator<string> {
  for (const field of message.fields) {
    const path = before + field.localName;
    if (field.message !== undefined && field.fieldKind !== 'map') {
      yield* textFields(field.message, `${path}.`);
    } else if (field.fieldKind === 'map' || field.scalar === ScalarType.STRING) yield path;
  }
}

function uuid(n: number): string {
  return `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
}
