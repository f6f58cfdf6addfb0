/**
 * Secrets of the settings: they are in files, and neither in arguments nor in the environment of
 * other programs.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'tap';
import { passedOn } from '../../actors/telemetry/collectors/command.ts';
import { smtpUrlOf, transportOptions } from '../../src/platform/mail/mailer.ts';
import { ConfigError, loadConfig } from '../../src/platform/settings/config.ts';

function problemsOf(flags: readonly string[], environment = {}): readonly string[] {
  try {
    loadConfig(flags, environment);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}

test('a login in a flag is refused with the place where it belongs', async (t) => {
  for (const [flags, place] of [
    [
      ['--smtp-url', 'smtp://svc:hunter2@mail.test'],
      /into SVC_SMTP_PASSWORD_FILE, or set SVC_SMTP/,
    ],
    [['--smtp-url=smtps://svc:hunter2@mail.test'], /into SVC_SMTP_PASSWORD_FILE/],
    [
      ['--nats-url', 'nats://svc:hunter2@nats.test'],
      /SVC_NATS_PASSWORD_FILE, or SVC_NATS_TOKEN_FILE/,
    ],
    [['--nats-url', 'nats://a:4222,tls://hunter2@b:4222'], /set SVC_NATS_URL in the environment/],
    [['--nats-url', 'hunter2@nats'], /has a login/],
  ] as const) {
    const problems = problemsOf(flags);
    t.equal(problems.length, 1, flags.join(' '));
    t.match(problems[0], place);
    t.notMatch(problems[0], /hunter2/);
  }
});

test('an address without a password may be a flag, and a login may be a variable', async (t) => {
  for (const flags of [
    ['--nats-url', 'nats://a.test:4222,b.test'],
    ['--nats-url', 'tls://a.test:4222'],
    ['--smtp-url', 'smtp://svc@mail.test:587'],
  ]) {
    t.notMatch(problemsOf(flags).join(), /has a login/, flags.join(' '));
  }
  t.same(problemsOf([], { SVC_SMTP_URL: 'smtp://svc:hunter2@mail.test' }), []);
});

test('the password of the mail server is read from a file unchanged', async (t) => {
  const file = join(t.testdir(), 'password');
  const password = 'p%40ss w/rd#?@:ä';
  writeFileSync(file, `${password}\n`);
  const { settings } = loadConfig([], {
    SVC_SMTP_URL: 'smtp://svc%40example.com@mail.test:2525',
    SVC_SMTP_PASSWORD_FILE: file,
  });
  const url = smtpUrlOf(settings) ?? '';
  t.match(transportOptions(url), {
    host: 'mail.test',
    port: 2525,
    auth: { user: 'svc@example.com', pass: password },
  });
  t.equal(smtpUrlOf({ smtpUrl: null, smtpPasswordFile: null }), null);
  writeFileSync(file, '\n');
  t.throws(() => smtpUrlOf(settings), { message: /SVC_SMTP_PASSWORD_FILE .* is empty/ });
  t.throws(() => smtpUrlOf({ ...settings, smtpPasswordFile: `${file}.absent` }), {
    message: /SVC_SMTP_PASSWORD_FILE cannot be read/,
  });
});

test('a password file without its user, or beside a password, is refused', async (t) => {
  const SVC_SMTP_PASSWORD_FILE = '/run/password';
  for (const [environment, problem] of [
    [{}, /^SVC_SMTP_PASSWORD_FILE needs SVC_SMTP_URL/],
    [{ SVC_SMTP_URL: 'smtp://mail.test' }, /needs a user without a password in SVC_SMTP_URL/],
    [{ SVC_SMTP_URL: 'smtp://a:b@mail.test' }, /needs a user without a password in SVC_SMTP_URL/],
  ] as const) {
    t.match(problemsOf([], { SVC_SMTP_PASSWORD_FILE, ...environment }), [problem]);
  }
});

test('other programs get no setting and no key of the service', async (t) => {
  const environment = {
    PATH: '/bin',
    HOME: '/root',
    SSH_AUTH_SOCK: '/run/agent',
    LIBVIRT_DEFAULT_URI: 'qemu:///system',
    SVC_SMTP_URL: 'smtp://svc:hunter2@mail.test',
    SVC_API_KEY: 'svc_sk_1',
    AWS_SECRET_ACCESS_KEY: 'x',
    NODE_OPTIONS: '--inspect',
    PATH_TO_SECRET: 'x',
  };
  const { PATH, HOME, SSH_AUTH_SOCK, LIBVIRT_DEFAULT_URI } = environment;
  t.same(passedOn(environment), { PATH, HOME, SSH_AUTH_SOCK, LIBVIRT_DEFAULT_URI });
});
