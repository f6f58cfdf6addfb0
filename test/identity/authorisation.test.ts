/**
 * Access of every kind of caller to every method of every service, compared with a table written by
 * hand. A method without a row fails, and so does a row without a method.
 * authorisation-states.test.ts covers later changes of a caller's state.
 */
import { getOption } from '@bufbuild/protobuf';
import { test } from 'tap';
import { type Policy, Policy_Access, policy } from '../../src/gen/svc/options/v1/policy_pb.ts';
import { admitTo } from '../../src/platform/access/authorize.ts';
import type { Principal } from '../../src/platform/access/principal.ts';
import { cookieHeaders, ORIGIN } from '../support/api-in-process.ts';
import {
  allMethods,
  bearer,
  everyCaller,
  type Outcome,
  startAuthorisationWorld,
} from '../support/every-method.ts';
import { reasonOf } from '../support/host-in-memory.ts';

/**
 * The columns: `personal` is a key of an EDITOR, `stranger` an OWNER elsewhere, `self` a VIEWER.
 */
const CALLERS = [
  ...(['nobody', 'personal', 'reader', 'writer', 'ci', 'collector', 'agent'] as const),
  ...(['VIEWER', 'EDITOR', 'OWNER', 'stranger', 'self'] as const),
] as const;
type Caller = (typeof CALLERS)[number];

interface Group {
  readonly name: string;
  /** Service/Method. */
  readonly methods: readonly string[];
  /** Subject of the request: an account's object, or one of the member `self`. */
  readonly about?: 'self';
  /** One word for each of `CALLERS`. */
  readonly who: string;
}

const groups: readonly Group[] = [
  {
    name: 'reading monitoring',
    methods: [
      'Monitoring/QueryVMMonitoring',
      'Monitoring/ListVMMonitoring',
      'Monitoring/ListMetricDescriptors',
      'Alert/GetAlertRule',
      'Alert/ListAlertRules',
      'Alert/GetAlertInstance',
      'Alert/ExplainAlertInstance',
      'Alert/ListAlertInstances',
      'Alert/ListIncidents',
      'Alert/GetIncident',
      'Alert/WatchIncidents',
      'Alert/ListDeliveries',
      'Alert/GetDelivery',
      'Alert/ExplainIncident',
      'Alert/ListNotices',
      'Alert/GetProjectOverview',
      'Monitoring/GetVMMonitoring',
      'Alert/ListAlertRuleTemplates',
      'Alert/PreviewAlertRule',
      'Alert/ReplayAlertRule',
      'Monitoring/GetProjectLimits',
      'Audit/ListMachines',
      'Audit/GetMachine',
      'Audit/ListTransitions',
    ],
    //   nobody  personal reader writer ci  collector  agent      VIEWER EDITOR OWNER stranger self
    who: 'sign-in yes     yes    yes    yes capability capability yes    yes    yes   boundary yes',
  },
  {
    name: 'writing monitoring, and where people are notified',
    methods: [
      'Alert/SaveAlertRule',
      'Alert/DeleteAlertRule',
      'Alert/CreateDestination',
      'Alert/GetDestination',
      'Alert/ListDestinations',
      'Alert/DeleteDestination',
      'Alert/UpdateDestination',
    ],
    //   nobody  personal reader     writer ci  collector  agent      VIEWER EDITOR OWNER stranger self
    who: 'sign-in yes     capability yes    yes capability capability role   yes    yes   boundary role',
  },
  {
    name: 'samples in',
    methods: ['Ingest/WriteSamples'],
    //   nobody  personal   reader     writer     ci         collector agent
    who: `sign-in capability capability capability capability yes       yes
          capability capability capability capability capability`,
  },
  {
    name: 'retired VMs',
    methods: ['Ingest/RetireVms'],
    //   nobody  personal   reader     writer     ci         collector agent
    who: `sign-in capability capability capability capability yes       capability
          capability capability capability capability capability`,
  },
  {
    name: 'open to any credential',
    methods: ['Automation/ListPermissionTemplates'],
    //   nobody  personal reader writer ci  collector agent VIEWER EDITOR OWNER stranger self
    who: 'sign-in yes     yes    yes    yes yes       yes   yes    yes    yes   boundary yes',
  },
  {
    name: 'authenticated by the request itself',
    methods: ['Automation/ExchangeCiToken', 'Automation/SubmitCiVerification'],
    //   nobody personal reader writer ci  collector agent VIEWER EDITOR OWNER stranger self
    who: 'yes   yes      yes    yes    yes yes       yes   yes    yes    yes   yes      yes',
  },
  {
    name: 'authenticated by the request itself: the empty token of this request is unknown',
    methods: ['Automation/EnrolAgent'],
    who: `unknown unknown unknown unknown unknown unknown unknown
          unknown unknown unknown unknown unknown`,
  },
  {
    name: 'any signed-in person',
    methods: [
      'Project/GetSelf',
      'Project/SignOutEverywhere',
      'Project/ListProjects',
      'Project/CreateProject',
      'Project/ListSessions',
      'Project/EndSession',
      'Project/GetServiceInfo',
    ],
    //   nobody  personal reader writer ci    collector agent VIEWER EDITOR OWNER stranger self
    who: 'sign-in human   human  human  human human     human yes    yes    yes   yes      yes',
  },
  {
    name: 'members',
    methods: ['Project/GetProject', 'Project/ListMembers', 'Maintenance/ListMaintenanceWindows'],
    //   nobody  personal reader writer ci    collector agent VIEWER EDITOR OWNER stranger self
    who: 'sign-in human   human  human  human human     human yes    yes    yes   boundary yes',
  },
  {
    name: 'editors',
    methods: [
      'Project/EnrolVm',
      'Project/UnenrolVm',
      'Alert/AcknowledgeIncident',
      'Alert/SnoozeIncident',
      'Alert/UnsnoozeIncident',
      'Alert/AcknowledgeIncidents',
      'Alert/SnoozeIncidents',
      'Maintenance/CreateMaintenanceWindow',
      'Maintenance/EndMaintenanceWindow',
      'Alert/VerifyDestination',
      'Alert/SendTestNotification',
      'Alert/PauseDestination',
      'Alert/ResumeDestination',
      'Alert/RotateWebhookSecret',
    ],
    //   nobody  personal reader writer ci    collector agent VIEWER EDITOR OWNER stranger self
    who: 'sign-in human   human  human  human human     human role   yes    yes   boundary role',
  },
  {
    name: 'owners',
    methods: [
      'Project/InviteMember',
      'Project/ListInvitations',
      'Project/RevokeInvitation',
      'Project/SetMemberRole',
      'Project/RemoveMember',
      'Project/UpdateProject',
      'Automation/CreateServiceAccount',
      'Automation/ListServiceAccounts',
      'Automation/GetServiceAccount',
      'Automation/UpdateServiceAccount',
      'Automation/DisableServiceAccount',
      'Automation/EnableServiceAccount',
      'Automation/DeleteServiceAccount',
      'Automation/CreateKey',
      'Automation/ListKeys',
      'Automation/RotateKey',
      'Automation/RevokeKey',
      'Automation/GetKey',
      'Automation/StartCiVerification',
      'Automation/GetCiVerification',
      'Automation/ListCiVerifications',
      'Automation/ApproveCiVerification',
      'Automation/RejectCiVerification',
      'Automation/ListCiConnections',
      'Automation/GetCiConnection',
      'Automation/UpdateCiConnection',
      'Automation/ListCredentials',
      'Automation/DisableCiConnection',
      'Automation/EnableCiConnection',
      'Automation/DeleteCiConnection',
    ],
    //   nobody  personal reader writer ci    collector agent VIEWER EDITOR OWNER stranger self
    who: 'sign-in human   human  human  human human     human role   role   yes   boundary role',
  },
  {
    name: 'creating a member’s keys: that member only',
    about: 'self',
    methods: ['Automation/CreateKey', 'Automation/RotateKey'],
    //   nobody  personal reader writer ci    collector agent VIEWER EDITOR OWNER stranger self
    who: 'sign-in human   human  human  human human     human role   role   role  boundary yes',
  },
  {
    name: 'listing and revoking a member’s keys; leaving, and being removed',
    about: 'self',
    methods: [
      'Automation/ListKeys',
      'Automation/GetKey',
      'Automation/RevokeKey',
      'Project/RemoveMember',
    ],
    //   nobody  personal reader writer ci    collector agent VIEWER EDITOR OWNER stranger self
    who: 'sign-in human   human  human  human human     human role   role   yes   boundary yes',
  },
];

/** The only identity methods that a credential may reach. */
const FOR_PROGRAMS = [
  'ExchangeCiToken',
  'SubmitCiVerification',
  'EnrolAgent',
  'ListPermissionTemplates',
];

const methods = await allMethods();
const shortName = ({ parent, name }: (typeof methods)[number]) =>
  `${parent.name.replace(/Service$/, '')}/${name}`;
const methodOf = new Map(methods.map((method) => [shortName(method), method]));

function wordsOf({ who }: Group): Readonly<Record<Caller, Outcome>> {
  const words = who.trim().split(/\s+/);
  if (words.length !== CALLERS.length) throw new Error(`A row has ${words.length} words: ${who}`);
  return Object.fromEntries(CALLERS.map((caller, i) => [caller, words[i]])) as Record<
    Caller,
    Outcome
  >;
}

test('API-09: every method has a row in the table, and every row a method', async (t) => {
  const rows = new Set(groups.flatMap((group) => group.methods));
  t.same(
    [...methodOf.keys()].filter((name) => !rows.has(name)),
    [],
    'methods without a row',
  );
  t.same(
    [...rows].filter((name) => !methodOf.has(name)),
    [],
    'rows without a method',
  );
  t.ok(methods.length > 50);
});

test('IDN-05, API-08: each method admits the callers in the table and rejects all others as listed', async (t) => {
  const world = await startAuthorisationWorld(t);
  const { headers, self } = await everyCaller(world);
  for (const group of groups) {
    const expected = wordsOf(group);
    for (const name of group.methods) {
      const method = methodOf.get(name);
      if (!method) continue;
      const about = group.about === 'self' ? { owner: self } : aboutAccount(name);
      const seen: Record<string, Outcome> = {};
      for (const caller of CALLERS)
        seen[caller] = await world.callAs(method, headers[caller], about);
      t.same(seen, expected, `${name} (${group.name})`);
    }
  }
  t.same(world.lines, [], 'nothing was logged: every refusal is the caller’s mistake');
});

/** A missing membership for `RemoveMember`, a missing account for everything else. */
function aboutAccount(name: string): { owner: string } {
  return { owner: name === 'Project/RemoveMember' ? '/members/none' : '/serviceAccounts/none' };
}

test('AUTH-02, API-16: access to one project gives none to another, existing or not', async (t) => {
  const world = await startAuthorisationWorld(t);
  const { headers } = await everyCaller(world);
  await world.account('other', ['monitoring.read']);
  const everywhere = bearer((await world.collector('_system')).key);
  for (const group of groups) {
    if (/^(authenticated by|any signed-in)/.test(group.name) || group.about) continue;
    const expected = wordsOf(group);
    for (const name of group.methods) {
      const method = methodOf.get(name);
      if (!method) continue;
      for (const caller of CALLERS) {
        if (expected[caller] !== 'yes' && expected[caller] !== 'role') continue;
        for (const project of ['other', 'nowhere']) {
          const about = { ...aboutAccount(name), project };
          const seen = await world.callAs(method, headers[caller], about);
          t.equal(seen, 'boundary', `${caller}: ${name} in ${project}`);
        }
      }
      const isIngest = name.startsWith('Ingest/');
      const refused = name === 'Automation/ListPermissionTemplates' ? 'boundary' : 'capability';
      const isHuman = getOption(method, policy).access === Policy_Access.HUMAN;
      const seen = await world.callAs(method, everywhere, { project: 'other' });
      const wanted = isIngest ? 'yes' : isHuman ? 'human' : refused;
      t.equal(seen, wanted, `a collector of every project: ${name}`);
    }
  }
});

test('API-21: only human sessions reach identity, member and project methods', async (t) => {
  const world = await startAuthorisationWorld(t);
  const { headers, self } = await everyCaller(world);
  const person = headers.OWNER;
  for (const method of methods) {
    if (!/Automation|Project/.test(method.parent.name) || FOR_PROGRAMS.includes(method.name))
      continue;
    t.equal(getOption(method, policy).access, Policy_Access.HUMAN, method.name);
    for (const caller of ['personal', 'reader', 'writer', 'ci', 'collector', 'agent'] as const) {
      for (const owner of ['/serviceAccounts/none', self]) {
        const seen = await world.callAs(method, headers[caller], { owner });
        t.equal(seen, 'human', `${caller}: ${method.name}`);
      }
    }
    // An Authorization header takes precedence: a session beside it is ignored.
    const both = await world.callAs(method, { ...person, ...headers.writer });
    t.equal(both, 'human', `a key beside a session: ${method.name}`);
    const broken = await world.callAs(method, { ...person, ...bearer('nonsense') });
    t.equal(broken, 'unknown', `an invalid header beside a session: ${method.name}`);
  }
});

test('API-21: a session requires its cookie and the service’s Origin', async (t) => {
  const world = await startAuthorisationWorld(t);
  const { cookie } = cookieHeaders(await world.signedInAs('demo', 'OWNER'));
  const method = methodOf.get('Alert/ListAlertRules');
  if (!method) throw new Error('ListAlertRules does not exist');
  const cases: readonly (readonly [string, Readonly<Record<string, string>>, Outcome])[] = [
    ['as a browser sends it', { cookie, origin: ORIGIN }, 'yes'],
    ['beside other cookies', { cookie: `a=b; ${cookie}; c=d`, origin: ORIGIN }, 'yes'],
    ['without Origin', { cookie }, 'sign-in'],
    ['from another site', { cookie, origin: 'https://evil.example' }, 'sign-in'],
    ['from another port', { cookie, origin: 'http://127.0.0.1:8081' }, 'sign-in'],
    ['from the opaque origin', { cookie, origin: 'null' }, 'sign-in'],
    ['from another scheme', { cookie, origin: ORIGIN.replace('http', 'https') }, 'sign-in'],
    ['another cookie alone', { cookie: 'a=b', origin: ORIGIN }, 'sign-in'],
    ['a mistyped secret', { cookie: `${cookie}x`, origin: ORIGIN }, 'unknown'],
    ['an empty Authorization beside it', { cookie, origin: ORIGIN, authorization: '' }, 'sign-in'],
    ['as a bearer', bearer(cookie.replace('svc_session=', '')), 'unknown'],
  ];
  for (const [name, headers, expected] of cases) {
    t.equal(await world.callAs(method, headers), expected, name);
  }
  const refused = await world.call('ListAlertRules', {}, { key: null, headers: { cookie } });
  t.match(refused.body.message, /requires the header "Origin: http:\/\/127/);
});

/**
 * Plain routes: status for each of `CALLERS`. All but PromQL accept bearers only, so people count
 * as anonymous.
 */
const routes: readonly (readonly [path: string, who: string])[] = [
  //                            nobody personal reader writer ci collector agent VIEWER ... self
  ['/promql/api/v1/query?query=1', '401 200 200 200 200 403 403 200 200 200 403 200'],
  ['/promql/api/v1/labels', '401 200 200 200 200 403 403 200 200 200 403 200'],
  ['/scrape-targets', '401 200 200 200 200 403 403 401 401 401 401 401'],
  ['/export?shard=0', '401 200 200 200 200 403 403 401 401 401 401 401'],
  ['/metrics', '401 200 200 200 200 403 403 401 401 401 401 401'],
];

test('Plain HTTP routes admit bearers that may read this project, PromQL also its members, and no others', async (t) => {
  const world = await startAuthorisationWorld(t);
  const { headers } = await everyCaller(world);
  for (const [path, who] of routes) {
    const below = (project: string) =>
      path === '/metrics' ? path : `/v1/monitoring/projects/${project}${path}`;
    const seen = [];
    for (const caller of CALLERS) seen.push(await world.get(below('demo'), headers[caller]));
    t.equal(seen.join(' '), who, path);
    if (path === '/metrics') continue;
    for (const caller of ['personal', 'reader', 'writer', 'ci'] as const) {
      t.equal(
        await world.get(below('other'), headers[caller]),
        403,
        `${caller}: ${path} elsewhere`,
      );
    }
  }
});

test('API-09: an undeclared access admits no caller', async (t) => {
  const declared = { $typeName: 'svc.options.v1.Policy', access: 0, role: 0, mutation: false };
  const credential = { kind: 'sk', capabilities: ['monitoring.read'], withdrawn: [] };
  for (const caller of [credential, { kind: 'human' }]) {
    const reason = reasonOf(() =>
      admitTo('M', declared as unknown as Policy, caller as unknown as Principal),
    );
    t.equal(reason, 'MISSING_CAPABILITY');
  }
});
