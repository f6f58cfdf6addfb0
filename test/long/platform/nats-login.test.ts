/**
 * Authentication with NATS in both directions: every way to log in and TLS on a real nats-server,
 * the same ways rejected with a sentence that names the setting and no secret, and a login that
 * changes while the service runs.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { nkeys } from '@nats-io/transport-node';
import t, { type Test, test } from 'tap';
import { openNats } from '../../../src/platform/nats.ts';
import { ConfigError, loadConfig } from '../../../src/platform/settings/config.ts';
import { systemClock } from '../../../streams/platform/clock.ts';
import { systemRandom } from '../../../streams/platform/random.ts';
import {
  type Stream,
  type StreamSpec,
  StreamUnavailable,
} from '../../../streams/platform/stream.ts';
import { componentPath, needs } from '../../support/components.ts';
import { natsServerFor } from '../../support/nats-server.ts';
import { reservePort } from '../../support/places.ts';
import { dataFolder, runInProcess, until } from '../../support/program.ts';

const SECRET = 'hunter2-p@ss/word';
const encoded = encodeURIComponent(SECRET);
const certificate = (name: string) =>
  fileURLToPath(new URL(`../../support/certificates/${name}`, import.meta.url));
const pair = `cert_file: "${certificate('nats.pem')}", key_file: "${certificate('nats.key')}"`;
const spec: StreamSpec = {
  name: 'LOG',
  subjects: ['log.>'],
  retention: 'log',
  duplicateWindowMs: 60_000,
};

/** A user's nkey, and its credentials in an account of an operator created for the test. */
function makeUser() {
  const operator = nkeys.createOperator();
  const account = nkeys.createAccount();
  const user = nkeys.createUser();
  const text = (bytes: Uint8Array) => Buffer.from(bytes).toString();
  const sign = (issuer: typeof operator, subject: string, nats: object): string => {
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const claims = { jti: 'x', iat: 1_700_000_000, iss: issuer.getPublicKey(), sub: subject, nats };
    const signed = `${part({ typ: 'JWT', alg: 'ed25519-nkey' })}.${part(claims)}`;
    return `${signed}.${Buffer.from(issuer.sign(Buffer.from(signed))).toString('base64url')}`;
  };
  const limits = { subs: -1, data: -1, payload: -1, imports: -1, exports: -1, conn: -1, leaf: -1 };
  const storage = { mem_storage: -1, disk_storage: -1, streams: -1, consumer: -1 };
  const accountJwt = sign(operator, account.getPublicKey(), {
    type: 'account',
    version: 2,
    limits: { ...limits, ...storage, wildcards: true },
  });
  const system = nkeys.createAccount().getPublicKey();
  const systemJwt = sign(operator, system, {
    type: 'account',
    version: 2,
    limits: { ...limits, wildcards: true },
  });
  const userJwt = sign(account, user.getPublicKey(), { type: 'user', version: 2, ...limits });
  const frame = (name: string, body: string) =>
    `-----BEGIN ${name}-----\n${body}\n------END ${name}------\n`;
  const operatorJwt = sign(operator, operator.getPublicKey(), { type: 'operator', version: 2 });
  return {
    seed: text(user.getSeed()),
    publicKey: user.getPublicKey(),
    credentials: frame('NATS USER JWT', userJwt) + frame('USER NKEY SEED', text(user.getSeed())),
    settings: [
      `operator: "${operatorJwt}"`,
      'resolver: MEMORY',
      `system_account: ${system}`,
      `resolver_preload: { ${account.getPublicKey()}: "${accountJwt}", ${system}: "${systemJwt}" }`,
    ].join('\n'),
  };
}

const user = makeUser();
const stranger = makeUser();

interface Way {
  readonly name: string;
  /** Configuration of the server. */
  readonly server: string;
  /** Files of the service; `FOLDER/name` is a file with that content. */
  readonly files?: Readonly<Record<string, string>>;
  readonly good: Readonly<Record<string, string>>;
  /** Each is rejected with a sentence that matches. */
  readonly bad: readonly (readonly [Readonly<Record<string, string>>, RegExp])[];
  /** Inserted before the host of the good and of the bad. */
  readonly url?: { readonly good?: string; readonly bad?: string };
}

const files = {
  password: SECRET,
  wrong: `${SECRET}-wrong`,
  empty: '\n',
  seed: user.seed,
  strange: stranger.seed,
  credentials: user.credentials,
  stranger: stranger.credentials,
};

const userAndPassword = `authorization { user: "svc", password: "${SECRET}" }`;
const ways: readonly Way[] = [
  {
    name: 'user and password in files',
    server: userAndPassword,
    good: { SVC_NATS_USER: 'svc', SVC_NATS_PASSWORD_FILE: 'FOLDER/password' },
    bad: [
      [
        { SVC_NATS_USER: 'svc', SVC_NATS_PASSWORD_FILE: 'FOLDER/wrong' },
        /refuses the connection .*: check SVC_NATS_USER and SVC_NATS_PASSWORD_FILE$/,
      ],
      [{}, /check a login in SVC_NATS_URL, SVC_NATS_USER, .* none of which is set$/],
      [
        { SVC_NATS_USER: 'svc', SVC_NATS_PASSWORD_FILE: 'FOLDER/absent' },
        /^SVC_NATS_PASSWORD_FILE cannot be read: ENOENT/,
      ],
      [
        { SVC_NATS_USER: 'svc', SVC_NATS_PASSWORD_FILE: 'FOLDER/empty' },
        /^SVC_NATS_PASSWORD_FILE .*\/empty is empty$/,
      ],
    ],
  },
  {
    name: 'user and password in the address',
    server: userAndPassword,
    good: {},
    bad: [[{}, /: check the login in SVC_NATS_URL$/]],
    url: { good: `svc:${encoded}@`, bad: `svc:${encoded}-wrong@` },
  },
  {
    name: 'a token in a file',
    server: `authorization { token: "${SECRET}" }`,
    good: { SVC_NATS_TOKEN_FILE: 'FOLDER/password' },
    bad: [[{ SVC_NATS_TOKEN_FILE: 'FOLDER/wrong' }, /: check SVC_NATS_TOKEN_FILE$/]],
  },
  {
    name: 'a token in the address',
    server: `authorization { token: "${SECRET}" }`,
    good: {},
    bad: [[{}, /: check the login in SVC_NATS_URL$/]],
    url: { good: `${encoded}@`, bad: `${encoded}-wrong@` },
  },
  {
    name: 'an nkey',
    server: `authorization { users: [{ nkey: ${user.publicKey} }] }`,
    good: { SVC_NATS_NKEY_FILE: 'FOLDER/seed' },
    bad: [
      [{ SVC_NATS_NKEY_FILE: 'FOLDER/strange' }, /: check SVC_NATS_NKEY_FILE$/],
      [
        { SVC_NATS_NKEY_FILE: 'FOLDER/password' },
        /does not hold the seed of a user.s nkey \(SU…\)/,
      ],
    ],
  },
  {
    name: 'a credentials file',
    server: user.settings,
    good: { SVC_NATS_CREDENTIALS_FILE: 'FOLDER/credentials' },
    bad: [
      [{ SVC_NATS_CREDENTIALS_FILE: 'FOLDER/stranger' }, /: check SVC_NATS_CREDENTIALS_FILE$/],
      [{ SVC_NATS_CREDENTIALS_FILE: 'FOLDER/seed' }, /does not hold a user.s JWT and seed/],
    ],
  },
  {
    name: 'TLS, selected by an address',
    server: `tls { ${pair} }`,
    good: { SVC_NATS_CA_FILE: certificate('nats-ca.pem') },
    bad: [
      [{}, /: set SVC_NATS_CA_FILE to the authority of its certificate/],
      [{ SVC_NATS_CA_FILE: certificate('receiver-ca.pem') }, /set SVC_NATS_CA_FILE/],
      [{ SVC_NATS_CA_FILE: 'FOLDER/password' }, /does not hold certificates in PEM form$/],
    ],
  },
  {
    name: 'TLS with a client certificate',
    server: `tls { ${pair}, ca_file: "${certificate('nats-ca.pem')}", verify: true }`,
    good: {
      SVC_NATS_CA_FILE: certificate('nats-ca.pem'),
      SVC_NATS_CERT_FILE: certificate('nats.pem'),
      SVC_NATS_KEY_FILE: certificate('nats.key'),
    },
    bad: [
      [
        {
          SVC_NATS_CA_FILE: certificate('nats-ca.pem'),
          SVC_NATS_CERT_FILE: certificate('nats.pem'),
          SVC_NATS_KEY_FILE: certificate('first.key'),
        },
        /are not a certificate and its key/,
      ],
    ],
  },
  {
    name: 'TLS with a server that has none',
    server: '',
    good: {},
    bad: [
      [
        { SVC_NATS_CA_FILE: certificate('nats-ca.pem') },
        /offers no TLS: enable it there, or leave/,
      ],
    ],
  },
];

function folderOf(t: Test): string {
  const folder = dataFolder(t);
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
  return folder;
}

function settingsOf(folder: string, url: string, more: Readonly<Record<string, string>>) {
  const named = Object.entries(more).map(([name, value]) => [
    name,
    value.replace('FOLDER', folder),
  ]);
  return loadConfig([], { SVC_NATS_URL: url, ...Object.fromEntries(named) }).settings;
}

async function open(t: Test, settings: Parameters<typeof openNats>[0]): Promise<Stream> {
  const stream = await openNats(settings, { clock: systemClock, random: systemRandom });
  t.teardown(() => stream.close());
  return stream;
}

/** As at a start of the service, a server that does not answer is asked again. */
function refusalOf(t: Test, settings: Parameters<typeof openNats>[0]): Promise<Error> {
  return until('it is refused', async () => {
    const refused = await open(t, settings).then(
      () => new Error('it connects'),
      (error) => error,
    );
    return refused instanceof StreamUnavailable ? undefined : refused;
  });
}

function assertNoSecret(t: Test, text: string): void {
  for (const secret of [SECRET, encoded, user.seed, stranger.seed, 'BEGIN']) {
    t.notOk(text.includes(secret), 'no secret');
  }
}

const newest = 'nats-server 2.15.1';
t.jobs = 2;
for (const { name, server: settings, good, bad, url = {} } of ways) {
  test(name, { ...needs(newest), buffered: true }, async (t) => {
    const folder = folderOf(t);
    const program = componentPath(newest);
    const server = await natsServerFor(t, { program, settings });
    const at = (login = '') => server.url.replace('://', `://${login}`);
    const stream = await open(t, settingsOf(folder, at(url.good), good));
    t.match(await stream.ensure(spec), { messages: 0 });
    for (const [more, sentence] of bad) {
      const refused = await refusalOf(t, settingsOf(folder, at(url.bad), more));
      t.type(refused, ConfigError);
      t.match(refused.message, sentence);
      assertNoSecret(t, `${refused.stack} ${JSON.stringify(refused)}`);
    }
  });
}

test('one login serves several addresses, even if one is unreachable', needs(newest), async (t) => {
  const folder = dataFolder(t);
  const server = await natsServerFor(t, { folder, settings: userAndPassword });
  const away = `nats://svc:${encoded}@127.0.0.1:${await reservePort()}`;
  const there = server.url.replace('://', `://svc:${encoded}@`);
  const stream = await open(t, settingsOf('', `${away},${there}`, {}));
  t.match(await stream.ensure(spec), { messages: 0 });
  const none = `${away},nats://svc:${encoded}@127.0.0.1:${await reservePort()}`;
  const refused = await open(t, settingsOf('', none, {})).catch((error) => error);
  t.match(refused, { name: 'StreamUnavailable', message: /nats:\/\/127.*, nats:\/\/127/ });
  assertNoSecret(t, `${refused.stack} ${refused.cause?.stack} ${JSON.stringify(refused)}`);
});

test(
  'a certificate for another host is rejected with the setting to change',
  needs(newest),
  async (t) => {
    const settings = `tls { ${pair} }`;
    const server = await natsServerFor(t, { settings });
    const url = server.url.replace('127.0.0.1', 'localhost');
    const ca = certificate('nats-ca.pem');
    await t.rejects(open(t, settingsOf('', url, { SVC_NATS_CA_FILE: ca })), {
      message: /SVC_NATS_URL to the host that the certificate is for$/,
    });
  },
);

test('TLS without the required client certificate is rejected', needs(newest), async (t) => {
  const ca = certificate('nats-ca.pem');
  const settings = `tls { ${pair}, ca_file: "${ca}", verify: true }`;
  const server = await natsServerFor(t, { settings });
  await t.rejects(open(t, settingsOf('', server.url, { SVC_NATS_CA_FILE: ca })), {
    message: /if it requires a client certificate, set SVC_NATS_CERT_FILE$/,
  });
});

test(
  'a user without permissions gets a message that names the missing ones',
  needs(newest),
  async (t) => {
    const permissions = 'permissions: { publish: "x" }';
    const settings = `authorization { users: [{ user: svc, password: "${SECRET}", ${permissions} }] }`;
    const server = await natsServerFor(t, { settings });
    const url = server.url.replace('://', `://svc:${encoded}@`);
    const stream = await open(t, settingsOf('', url, {}));
    await t.rejects(stream.ensure(spec), {
      name: 'StreamMisconfigured',
      message: /may not publish \$JS\.API\.STREAM\.INFO\.LOG: give it the permissions/,
    });
  },
);

test(
  'the permissions listed in docs/operations/cluster.md are sufficient',
  needs(newest),
  async (t) => {
    const publish = '["svc.>", "$JS.API.>", "$JS.ACK.>"]';
    const permissions = `permissions: { publish: ${publish}, subscribe: "_INBOX.>" }`;
    const settings = `authorization { users: [{ user: svc, password: "${SECRET}", ${permissions} }] }`;
    const server = await natsServerFor(t, { settings });
    const url = server.url.replace('://', `://svc:${encoded}@`);
    const stream = await open(t, settingsOf('', url, {}));
    const own = { ...spec, subjects: ['svc.log.>'] };
    await stream.ensure(own);
    const append = { stream: 'LOG', subject: 'svc.log.a', data: new Uint8Array(1) };
    t.match(await stream.append(append), { kind: 'appended' });
    const got: number[] = [];
    const from = { sequence: 1 };
    for await (const { sequence } of stream.read({ stream: 'LOG', from, untilEnd: true })) {
      got.push(sequence);
    }
    const consumer = await stream.consume({
      stream: 'LOG',
      durable: 'd',
      ackWaitMs: 5_000,
      maxAckPending: 1,
    });
    for await (const delivery of consumer) {
      await delivery.ack();
      break;
    }
    await stream.truncate({ stream: 'LOG', belowSequence: 2 });
    t.same(got, [1]);
  },
);

test('a changed password needs no restart', needs(newest), async (t) => {
  const folder = folderOf(t);
  const store = dataFolder(t);
  const server = await natsServerFor(t, { folder: store, settings: userAndPassword });
  const more = { SVC_NATS_USER: 'svc', SVC_NATS_PASSWORD_FILE: 'FOLDER/password' };
  const stream = await open(t, settingsOf(folder, server.url, more));
  await stream.ensure(spec);
  await server.kill();
  const changed = userAndPassword.replace(SECRET, 'another');
  const file = join(store, 'nats.conf');
  const { port } = new URL(server.url);
  writeFileSync(
    file,
    `listen: "127.0.0.1:${port}"\njetstream { store_dir: "${store}/store" }\n${changed}\n`,
  );
  await server.start();
  const reason = await until('health to name the login', () => {
    const health = stream.health();
    if (health.state === 'available') return undefined;
    return health.reason.includes('refuses the login') ? health.reason : undefined;
  });
  assertNoSecret(t, reason);
  writeFileSync(join(folder, 'password'), 'another\n');
  await until('the connection', () => (stream.health().state === 'available' ? true : undefined));
  t.match(await stream.state('LOG'), { messages: 0 });
});

test('DUR-24: svc serve exits at once with the code for bad settings', needs(newest), async (t) => {
  const server = await natsServerFor(t, { settings: userAndPassword });
  const { code, text } = await runInProcess(['serve'], {
    SVC_DATA: join(dataFolder(t), 'data'),
    SVC_LISTEN: '127.0.0.1:0',
    SVC_METRICS_LISTEN: 'off',
    SVC_NATS_URL: server.url.replace('://', `://svc:${encoded}-wrong@`),
  });
  t.equal(code, 2);
  t.match(text, /NATS at nats:\/\/127\.0\.0\.1:\d+ refuses the connection .*check the login in/);
  assertNoSecret(t, text);
});

test('settings that contradict each other are rejected', async (t) => {
  const problems = (environment: Readonly<Record<string, string>>): string => {
    try {
      loadConfig([], environment);
    } catch (error) {
      return (error as Error).message;
    }
    return 'none';
  };
  const url = { SVC_NATS_URL: 'tls://a:4222' };
  t.match(problems({ SVC_NATS_CA_FILE: '/ca' }), /SVC_NATS_CA_FILE needs SVC_NATS_URL/);
  t.match(problems({ ...url, SVC_NATS_USER: 'a' }), /needs SVC_NATS_PASSWORD_FILE as well/);
  t.match(problems({ ...url, SVC_NATS_PASSWORD_FILE: 'a' }), /needs SVC_NATS_USER as well/);
  t.match(problems({ ...url, SVC_NATS_CERT_FILE: 'a' }), /needs SVC_NATS_KEY_FILE/);
  t.match(
    problems({ ...url, SVC_NATS_TOKEN_FILE: 'a', SVC_NATS_NKEY_FILE: 'b' }),
    /SVC_NATS_TOKEN_FILE and SVC_NATS_NKEY_FILE are separate logins at NATS: set only one/,
  );
  const both = { SVC_NATS_URL: `nats://u:${encoded}@a`, SVC_NATS_TOKEN_FILE: 'a' };
  t.match(problems(both), /a login in SVC_NATS_URL and SVC_NATS_TOKEN_FILE are separate logins/);
  for (const bad of [`nats://a:1@h,nats://b:2@h`, `nats://u:${encoded}@h/x`, 'nats://u:%zz@h']) {
    t.match(problems({ SVC_NATS_URL: bad }), /its value has /);
    assertNoSecret(t, problems({ SVC_NATS_URL: bad }));
  }
});

test('a server that does not listen is unavailable, as without a login', async (t) => {
  const url = `nats://u:${encoded}@127.0.0.1:${await reservePort()}`;
  const refused = await open(t, settingsOf('', url, {})).catch((error) => error);
  t.equal(refused.name, 'StreamUnavailable');
  assertNoSecret(t, `${refused.stack} ${refused.cause?.stack}`);
});
