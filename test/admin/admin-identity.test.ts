/**
 * `svc admin` as an operator runs it: the commands in this process, over a real socket, with the
 * real decisions; and once the program as a user starts it.
 */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { test } from 'tap';
import { memberIdOf } from '../../actors/identity/grants.ts';
import { SYSTEM_PROJECT } from '../../streams/platform/commit/commit.ts';
import { reasonOf } from '../support/host-in-memory.ts';
import { identitiesOf } from '../support/identities.ts';
import { startAdmin, svc } from '../support/operator-commands.ts';
import { outcomeOf } from '../support/people-on-host.ts';
import { dataFolder } from '../support/program.ts';
import { submit } from '../support/submit.ts';

const ME = `operator/${userInfo().username}`;

test('a project is created with its owner, who signs in by a link, once', async (t) => {
  const { world, admin, asJson, use } = await startAdmin(t);
  const made = await admin('project', 'create', 'web', '--name', 'Web', '--owner', 'Ann@x.org');
  t.match(made, { code: 0, stderr: '' });
  t.match(made.stdout, /^project web created; its owner is ann@x\.org \(people\/[0-9A-Z]{26}\)$/m);
  t.match(made.stdout, '"svc admin login-link ann@x.org"');
  const ann = world.people.personByEmail('ann@x.org') ?? '';
  t.match(world.members.placesOf(ann), [{ project: 'web', role: 'OWNER' }]);

  const printed = await admin('login-link', 'ann@x.org');
  t.match(
    printed.stderr,
    /^sign-in link for ann@x\.org; it works once, until \S+, and cannot be shown again:\n$/,
  );
  t.match(printed.stdout, /^https:\/\/svc\.example\/auth\/link#svc_link_\S+\n$/, 'the link alone');
  const link = printed.stdout.trim();
  const session = await use(link);
  t.equal(session.person, ann);
  t.equal(await outcomeOf(() => use(link)), 'CREDENTIAL_REVOKED');
  for (const who of [ann, `people/${ann}`]) {
    t.equal((await use((await asJson('login-link', who)).link)).person, ann, who);
  }
  const steps = world.host.view('web').transitions({ limit: 10 }).items;
  t.match(steps[0], { machine: 'membership', by: { kind: 'operator', name: ME } });
  t.match(world.host.view(SYSTEM_PROJECT).transitions({ limit: 1 }).items, [
    { machine: 'person', by: { kind: 'operator', name: ME } },
  ]);

  t.match(await admin('project', 'create', 'web', '--owner', 'bob@x.org'), {
    code: 1,
    stdout: '',
    stderr: 'svc admin project create: The project web already exists\n',
  });
  t.equal(world.people.personByEmail('bob@x.org'), undefined, 'a failed command creates no person');
});

test('login-link without a person makes a link for the only owner', async (t) => {
  const { world, admin, asJson, use } = await startAdmin(t);
  t.match(await admin('login-link'), { code: 1, stderr: /No active person owns a project/ });
  await admin('project', 'create', 'web', '--owner', 'ann@x.org');
  await admin('project', 'create', 'shop', '--owner', 'ann@x.org');
  await world.person('cy@x.org');
  const ann = world.people.personByEmail('ann@x.org');
  t.equal((await use((await asJson('login-link')).link)).person, ann);
  await admin('project', 'create', 'lab', '--owner', 'bob@x.org');
  t.match(await admin('login-link'), { code: 1, stderr: /2 people own a project\. Name one/ });
  t.equal((await use((await asJson('login-link', 'projects/web')).link)).person, ann);
  await admin('people', 'disable', 'bob@x.org');
  t.equal((await use((await asJson('login-link')).link)).person, ann, 'bob may not sign in');
});

test('an operator’s invitation creates an owner', async (t) => {
  const { world, admin, asJson, use } = await startAdmin(t);
  await admin('project', 'create', 'web', '--owner', 'ann@x.org');
  const printed = await admin('invite', 'projects/web', 'bob@x.org', '--role', 'OWNER');
  t.match(printed.stderr, /^invitation for bob@x\.org, as OWNER of web; it works once, until/);
  t.match(printed.stdout, /^https:\/\/\S+\n$/, 'the link alone');
  const { person } = await use(printed.stdout.trim());
  t.equal(world.people.personByEmail('bob@x.org'), person);
  t.match(await asJson('project', 'list'), [
    { project: 'web', displayName: 'web', members: 2, owners: ['ann@x.org', 'bob'] },
  ]);
  t.match((await admin('project', 'list')).stdout, /^project +name +members +owners +made$/m);
  const known = await admin('invite', 'web', 'cy@x.org', '--role', 'VIEWER');
  t.notMatch(known.stderr, /known here/);
  await world.person('cy@x.org');
  t.match(await admin('invite', 'web', 'cy@x.org', '--role', 'VIEWER'), {
    stderr: /known here: signs in first, "svc admin login-link cy@x\.org"/,
  });
  t.match(await admin('invite', 'none', 'bob@x.org', '--role', 'OWNER'), {
    code: 1,
    stderr: 'svc admin invite: There is no project none\n',
  });
  t.match(await admin('invite', 'web', 'bob@x.org', '--role', 'OWNER'), {
    code: 1,
    stderr: /bob@x\.org is already a member/,
  });
  t.match(await admin('invite', 'web', 'bob', '--role', 'OWNER'), {
    code: 1,
    stderr: /not an email address/,
  });
});

test('people are listed, locked out, readmitted, and signed out', async (t) => {
  const { world, admin, asJson } = await startAdmin(t);
  t.match((await admin('people', 'list')).stdout, 'No people');
  await admin('project', 'create', 'web', '--owner', 'ann@x.org');
  const ann = world.people.personByEmail('ann@x.org') ?? '';
  const session = await world.signedIn(ann);
  const look = () => reasonOf(() => world.people.sessionOf(session.secret));
  t.match(await asJson('people', 'list'), [
    {
      person: ann,
      email: 'ann@x.org',
      state: 'active',
      sessions: 1,
      projects: ['web OWNER'],
    },
  ]);
  t.equal(look(), 'accepted');
  const locked = await admin('people', 'disable', 'ann@x.org', '--reason', 'left');
  t.match(locked, { code: 0, stdout: /is disabled; 1 session ended$/m });
  t.equal(look(), 'CREDENTIAL_REVOKED');
  t.match((await admin('people', 'list')).stdout, /disabled: left/);
  t.match(await admin('login-link', 'ann@x.org'), { code: 1, stderr: /locked out/ });
  t.match(await admin('people', 'enable', 'ann@x.org'), { code: 0, stdout: /may sign in/ });
  await world.signedIn(ann);
  await world.signedIn(ann);
  const ended = await admin('sessions', 'end', `people/${ann}`);
  t.match(ended, { code: 0, stdout: /is signed out; 2 sessions ended$/m });
  t.match(await admin('people', 'unlink', 'ann@x.org'), {
    code: 0,
    stdout: /: 0 accounts unlinked; the next sign-in with a verified address links one again$/m,
  });
  const reasons = world.host
    .view(SYSTEM_PROJECT)
    .transitions({ limit: 100, machine: 'session' })
    .items.filter(({ event }) => event.type === 'ended')
    .map(({ by, event }) => [by.name, event.reason]);
  t.same(reasons, [
    [ME, 'PERSON_DISABLED'],
    [ME, 'ENDED_BY_OPERATOR'],
    [ME, 'ENDED_BY_OPERATOR'],
  ]);
  for (const who of ['zoe@x.org', 'nobody', 'people/nobody']) {
    const answer = await admin('sessions', 'end', who);
    t.match(answer, { code: 1, stderr: `No person is known as ${who}. "svc admin people list"` });
  }
});

test('an address known only from an invitation is marked, and identifies no person', async (t) => {
  const { world, admin, use } = await startAdmin(t);
  await admin('project', 'create', 'web', '--owner', 'ann@x.org');
  const by = { kind: 'human', name: 'people/ann' } as const;
  const offer = { project: 'web', by, email: 'bob@x.org', role: 'VIEWER' } as const;
  const { token } = await world.members.invitations.invite(offer);
  const { person } = await use(`#${token}`);
  t.match((await admin('people', 'list')).stdout, /bob +bob@x\.org \(not verified\) +active/);
  const printed = await admin('login-link', 'bob@x.org');
  t.match(printed, { code: 1, stderr: `people/${person} joined by an invitation to it` });
  t.equal((await admin('login-link', person)).code, 0);
});

test('a key is revoked in an emergency, by name or id, whoever owns it', async (t) => {
  const { world, admin } = await startAdmin(t);
  const owner = 'projects/web/serviceAccounts/a';
  for (const id of ['k1', 'k2']) {
    await submit(
      world.host,
      { project: 'web', by: { kind: 'operator', name: 'test' } },
      (draft) => {
        const about = {
          project: 'web',
          kind: 'sk' as const,
          owner,
          capabilities: [],
          displayName: id,
        };
        const unused = {
          hash: '',
          lastFour: '',
          createdBy: '',
          datacenter: null,
          projects: null,
          vm: null,
        };
        draft.start('credential', id, {
          at: draft.at,
          ...about,
          ...unused,
          expiresMs: draft.at + 1_000,
        });
      },
    );
  }
  const revoked = { code: 0, stdout: `${owner}/keys/k1 is revoked\n` };
  t.match(await admin('revoke-key', 'k1'), revoked);
  t.match(await admin('revoke-key', 'k1'), {
    code: 0,
    stdout: /k1 has already ended \(revoked\)/,
  });
  t.equal((await admin('revoke-key', `${owner}/keys/k2`)).code, 0);
  t.match(world.host.findInstance('credential', 'k2'), {
    value: 'revoked',
    context: { revokedReason: 'REVOKED_BY_OPERATOR' },
  });
  for (const none of ['k3', 'projects/other/serviceAccounts/a/keys/k2']) {
    t.match(await admin('revoke-key', none), { code: 1, stderr: `There is no key ${none}` });
  }
});

test('a command repeated under the same request id gets the same answer', async (t) => {
  const { world, admin } = await startAdmin(t);
  const steps = () =>
    [SYSTEM_PROJECT, 'web'].flatMap((project) => [
      ...world.host.view(project).transitions({ limit: 100 }).items,
    ]);
  const twice = async (...words: string[]) => {
    const id = randomUUID();
    const before = world.host.appliedSequence();
    const run = () => admin(...words, '--json', '--request-id', id);
    const first = await run();
    t.equal(first.code, 0, first.stderr);
    const made = steps().filter(({ sequence }) => sequence > before);
    const after = steps().length;
    const again = await run();
    t.equal(steps().length, after, `${words[0]}: nothing is done twice`);
    return { id, first, again, made };
  };
  const same = async (...words: string[]) => {
    const { id, first, again, made } = await twice(...words);
    t.same(again, first, words.join(' '));
    t.ok(made.length > 0);
    for (const { requestId, by } of made) t.same([requestId, by.name], [id, ME], words.join(' '));
  };
  await same('project', 'create', 'web', '--owner', 'ann@x.org');
  const ann = world.people.personByEmail('ann@x.org') ?? '';
  await world.signedIn(ann);
  await same('sessions', 'end', ann);
  await world.signedIn(ann);
  await same('people', 'disable', ann, '--reason', 'left');
  await same('people', 'enable', ann);
  const { account } = await identitiesOf(world).accountKey('web', ['monitoring.read']);
  t.ok(account);
  const [key] = world.host.view('web').instances('credential', { limit: 1 }).items;
  await same('revoke-key', key?.instance ?? '');
  for (const words of [
    ['invite', 'web', 'bob@x.org', '--role', 'VIEWER'],
    ['login-link', 'ann@x.org'],
  ]) {
    const { id, first, again } = await twice(...words);
    t.match(JSON.parse(first.stdout), { secretAvailable: true, link: /^https:/ });
    t.equal(again.code, 1);
    const { link: _, secretAvailable: __, ...displayed } = JSON.parse(first.stdout);
    t.same(JSON.parse(again.stdout), { ...displayed, link: '', secretAvailable: false });
    t.match(
      again.stderr,
      /The secret was in an earlier response and cannot be shown again\..*another/s,
    );
    t.match(await admin(...words, '--request-id', id), { code: 1, stdout: '' });
  }
  const id = randomUUID();
  const create = (project: string) =>
    admin('project', 'create', project, '--owner', 'ann@x.org', '--request-id', id);
  t.equal((await create('one')).code, 0);
  t.match(await create('two'), { code: 1, stderr: /was used for another request/ });
  const create2 = await admin('project', 'create', 'one', '--owner', 'ann@x.org');
  t.match(create2, { code: 1, stderr: /The project one already exists/ });
  t.match(await admin('login-link', ann, '--request-id', 'x'), { code: 1, stderr: /not a UUID/ });
});

test('changes outside projects appear in the operator’s audit', async (t) => {
  const { world, admin, asJson, use } = await startAdmin(t);
  const id = randomUUID();
  await admin('project', 'create', 'web', '--owner', 'ann@x.org', '--request-id', id);
  const ann = world.people.personByEmail('ann@x.org') ?? '';
  const { link } = await asJson('login-link', ann);
  const session = await use(link);
  const all = (await asJson('transitions')).transitions;
  t.match(all, [
    { machine: 'session', instance: session.session, event: 'xstate.init', fromJson: '' },
    {
      machine: 'signInLink',
      event: 'used',
      fromJson: '"issued"',
      toJson: '"used"',
      by: `people/${ann}`,
      byDisplayName: 'ann@x.org',
    },
    { machine: 'signInLink', by: ME, requestId: /^[0-9a-f-]{36}$/ },
    { machine: 'person', instance: ann, by: ME, requestId: id },
  ]);
  t.equal(all.length, 4);
  for (const hidden of [link.split('_').at(-1), '"tokenHash"', '"hash"', 'ann@x.org\\"']) {
    t.notMatch(JSON.stringify(all), hidden, 'public fields only');
  }
  const printed = (await admin('transitions')).stdout;
  t.match(printed, /^time +by +machine +instance +event +from → to +request id$/m);
  t.match(printed, new RegExp(`${ME} +person +${ann} +xstate.init +- → active +${id}`));
  const of = async (...filter: string[]) =>
    (await asJson('transitions', ...filter)).transitions.map(
      ({ machine, event }: { machine: string; event: string }) => `${machine} ${event}`,
    );
  t.same(await of('--machine', 'session'), ['session xstate.init']);
  t.same(await of('--instance', `people/${ann}`), ['person xstate.init']);
  t.same(await of('--project', 'projects/web'), ['membership xstate.init']);
  const member = memberIdOf('web', ann);
  t.same(await of('--instance', `projects/web/members/${member}`), ['membership xstate.init']);
  const first = await asJson('transitions', '--limit', '3');
  t.same(first.transitions, all.slice(0, 3));
  const page = ['--limit', '3', '--page-token', first.nextPageToken];
  t.same((await asJson('transitions', ...page)).transitions, all.slice(3));
  t.match((await admin('transitions', '--limit', '3')).stdout, '--page-token');
  for (const [args, stderr] of [
    [['--project', 'none'], /There is no project none/],
    [['--machine', 'sesion'], /There is no machine "sesion"; known: .*session/],
    [['--limit', '1001'], /--limit must be a whole number from 1 to 1000/],
    [['--page-token', 'x'], /pageToken is not one of this list/],
    [['--project', 'a', '--instance', 'projects/web/members/m'], /--instance belongs to another/],
  ] as const) {
    t.match(await admin('transitions', ...args), { code: 1, stdout: '', stderr });
  }
});

test('an unanswered command is reported with the request id for its resend', async (t) => {
  const folder = dataFolder(t);
  const cut = createServer((requested, response) => {
    requested.resume();
    response.writeHead(200).write('{"progress":1}\n', () => response.destroy());
  });
  cut.listen(join(folder, 'admin.sock'));
  t.teardown(() => void cut.close());
  await once(cut, 'listening');
  const create = ['admin', 'project', 'create', 'web', '--owner', 'a@x.org', '--data', folder];
  t.match(await svc(create), { code: 1, stdout: '', stderr: /with --request-id [0-9a-f-]{36}: a/ });
});

test('an invalid command line is rejected with the correct usage', async (t) => {
  const cases: [string[], RegExp][] = [
    [[], /specify an action: project create/],
    [['project'], /specify one of: project create, project list/],
    [['peple', 'list'], /did you mean "svc admin people list"/],
    [['nonsense'], /"svc help admin" lists them/],
    [['project', 'create'], /ID is missing/],
    [['project', 'create', 'web'], /--owner is missing/],
    [['invite', 'web', 'a@x.org', '--role', 'BOSS'], /--role must be one of VIEWER, EDITOR, OWNER/],
    [['invite', 'web', 'a@x.org', '--rol', 'OWNER'], /Did you mean --role/],
    [['login-link', 'a', 'b'], /Unexpected argument "b"/],
    [['people', 'list', '--data'], /--data requires a value/],
  ];
  for (const [args, message] of cases) {
    t.match(
      await svc(['admin', ...args]),
      { code: 2, stdout: '', stderr: message },
      args.join(' '),
    );
  }
  const folder = dataFolder(t);
  t.match(await svc(['admin', 'project', 'list', '--data', folder]), {
    code: 1,
    stderr: `no service is running on ${folder}. Start it ("svc serve", or "systemctl start svc" if it is installed), or pass --data`,
  });
  t.match(await svc(['admin', 'project', 'list'], { SVC_DATA: folder }), {
    code: 1,
    stderr: `no service is running on ${folder}`,
  });
  const help = await svc(['help', 'admin']);
  t.match(help, { code: 0, stdout: /svc admin invite PROJECT EMAIL --role ROLE/ });
  t.match(await svc(['help', 'admin', 'invite']), {
    code: 0,
    stdout: /--role ROLE +Role of the member/,
  });
  t.match((await svc(['help'])).stdout, /^ {2}admin +Create projects/m);
});

test('svc admin leaked revokes the secrets that it reads, and reports the outcome of each line', async (t) => {
  const { world, withInput, admin } = await startAdmin(t);
  const ann = await world.person('ann@x.org');
  const { secret, session } = await world.signedIn(ann);
  const printed = await withInput(`${secret}\nsvc_pk_x\n`, 'leaked');
  t.equal(printed.code, 0, printed.stderr);
  t.match(printed.stdout, `line 1: revoked people/${ann}/sessions/${session}`);
  t.match(printed.stdout, /line 2: not a valid secret/);
  t.match(printed.stdout, /svc destinations rotate-secret/);
  t.notMatch(printed.stdout + printed.stderr, secret);
  t.match(world.host.findInstance('session', session)?.context, { endedReason: 'LEAKED' });
  t.match((await admin('transitions')).stdout, /operator\/.*session .*ended/);
  const asArgument = await admin('leaked', secret);
  t.equal(asArgument.code, 2);
  t.notMatch(asArgument.stderr, secret, 'a secret given as an argument is not repeated');
  t.equal((await withInput('a b', 'leaked')).code, 2);
});

test('HOOK-26: svc admin bounce reads a returned mail from a pipe', async (t) => {
  const { withInput } = await startAdmin(t);
  const postfix = readFileSync(new URL('../support/bounces/postfix.eml', import.meta.url), 'utf8');
  const outcome = async (mail: string) => {
    const { code, stdout } = await withInput(mail, 'bounce');
    t.equal(code, 0, 'the mail server keeps no mail that the service has read');
    return stdout;
  };
  t.match(await outcome(postfix), /^Ignored: the mail was not a notification of this service$/m);
  t.match(
    await outcome(postfix.replace('Status: 5.1.1', 'Status: 5.7.1')),
    /not about the address/,
  );
  t.match(
    await outcome('Subject: Out of office\n\nI am away'),
    /^Ignored: the mail is not a delivery report/,
  );
  const away = await svc(['admin', 'bounce', '--data', dataFolder(t)], {}, postfix);
  t.equal(away.code, 75, 'EX_TEMPFAIL: the mail server tries again');
});
