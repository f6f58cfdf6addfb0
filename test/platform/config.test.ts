/**
 * Settings and the command line: tables of valid and invalid values. Each invalid value lists the
 * words that its error must contain, because an error that does not name a valid value is only half
 * an error.
 */
import { readFileSync } from 'node:fs';
import { test } from 'tap';
import { closestName } from '../../actors/platform/closest-name.ts';
import { FolderLocked } from '../../sqlite/platform/lock-file.ts';
import type { StopSignal, Surroundings } from '../../src/cli/command.ts';
import { allCommands, runCommand, runProgram } from '../../src/cli/program.ts';
import { createServeCommand } from '../../src/cli/serve.ts';
import { settingsHelp, settingsPage } from '../../src/cli/settings-page.ts';
import { createLog, scrubSecrets } from '../../src/platform/log.ts';
import { ConfigError, loadConfig } from '../../src/platform/settings/config.ts';
import { flagOf, settingsTable } from '../../src/platform/settings/settings.ts';
import type { RunningService } from '../../src/service/running-service.ts';
import { VirtualClock } from '../../streams/platform/clock.ts';

const page = new URL('../../docs/configuration.md', import.meta.url);

function problemsOf(flags: string[], environment: Record<string, string>): readonly string[] {
  try {
    loadConfig(flags, environment);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
}

test('without flags and environment every setting has its documented default', async (t) => {
  const { settings, warnings } = loadConfig([], { PATH: '/usr/bin', SVC_NATS_URL: '' });
  t.same(warnings, []);
  t.match(settings, {
    listen: { host: '127.0.0.1', port: 8080 },
    allowedHosts: null,
    connectionsPerAddress: 256,
    metricsListen: { host: '127.0.0.1', port: 9464 },
    data: './data',
    historyData: './data',
    retentionDays: 7,
    headMib: 1024,
    flushMinutes: 60,
    masterKeyFile: 'data/master.key',
    masterKeyFileGiven: false,
    datacenter: 'DC-1',
    demo: true,
    collect: 'auto',
    sampleIntervalSeconds: 30,
    auditRetentionDays: 400,
    natsUrl: null,
    tlsCertFile: null,
    webhookAllow: null,
    webhookAllowHttp: false,
    logLevel: 'info',
  });
});

test('a valid value is parsed alike from each source', async (t) => {
  const cases: [string[], Record<string, string>, object][] = [
    [['--listen', '[::1]:0'], {}, { listen: { host: '::1', port: 0 } }],
    [
      ['--listen=:9000'],
      { SVC_LISTEN: '127.0.0.1:1' },
      { listen: { host: '127.0.0.1', port: 9000 } },
    ],
    [['--demo'], {}, { demo: true }],
    [['--demo', 'off'], {}, { demo: false, collect: [] }],
    [['--demo', '--data', '/d'], {}, { demo: true, data: '/d', masterKeyFile: '/d/master.key' }],
    [
      [],
      { SVC_NATS_URL: 'nats://a:4222, tls://b' },
      { natsUrl: { servers: ['nats://a:4222', 'tls://b'], tls: true }, demo: false },
    ],
    [['--data', '/d'], {}, { historyData: '/d' }],
    [['--history-data=/h'], { SVC_DATA: '/d' }, { data: '/d', historyData: '/h' }],
    [
      ['--head-mib', '8192'],
      { SVC_RETENTION_DAYS: '90', SVC_FLUSH_MINUTES: '5' },
      { headMib: 8192, retentionDays: 90, flushMinutes: 5 },
    ],
    [[], { SVC_COLLECT: 'libvirt,host' }, { collect: ['host', 'libvirt'] }],
    [[], { SVC_COLLECT: 'none' }, { collect: [] }],
    [[], {}, { roles: ['all'] }],
    [[], { SVC_ROLES: 'none' }, { roles: ['none'] }],
    [[], {}, { metricsOnApi: false }],
    [[], { SVC_METRICS_ON_API: 'on' }, { metricsOnApi: true }],
    [[], { SVC_METRICS_LISTEN: 'off' }, { metricsListen: null, metricsListenGiven: true }],
    [[], { SVC_PUBLIC_URL: 'https://m.example.com/' }, { publicUrl: 'https://m.example.com' }],
    [
      [],
      { SVC_LISTEN: '0.0.0.0:80', SVC_TRUSTED_PROXY: '10.0.0.1, fd00::/8' },
      { listen: { host: '0.0.0.0', port: 80 }, trustedProxy: ['10.0.0.1', 'fd00::/8'] },
    ],
    [
      [],
      { SVC_LISTEN: '0.0.0.0:443', SVC_TLS_CERT_FILE: 'c', SVC_TLS_KEY_FILE: 'k' },
      { tlsCertFile: 'c', tlsKeyFile: 'k' },
    ],
    [
      [],
      { SVC_WEBHOOK_ALLOW: 'Hooks.LAN,10.0.0.0/8,::1', SVC_WEBHOOK_ALLOW_HTTP: 'on' },
      { webhookAllow: ['hooks.lan', '10.0.0.0/8', '::1'], webhookAllowHttp: true },
    ],
    [
      [],
      { SVC_WEBHOOK_DENY: 'Evil.example,8.8.8.0/24', SVC_WEBHOOK_NAT64: 'fd00:64::/96' },
      { webhookDeny: ['evil.example', '8.8.8.0/24'], webhookNat64: ['fd00:64::/96'] },
    ],
    [[], {}, { webhookNat64: 'auto', webhookProxy: null }],
    [[], { SVC_WEBHOOK_NAT64: 'off' }, { webhookNat64: [] }],
    [
      [],
      {
        SVC_WEBHOOK_PROXY: 'https://svc@proxy.lan:3128',
        SVC_WEBHOOK_PROXY_PASSWORD_FILE: '/run/p',
      },
      { webhookProxy: 'https://svc@proxy.lan:3128', webhookProxyPasswordFile: '/run/p' },
    ],
    [['--webhook-proxy', 'http://svc@proxy:1'], {}, { webhookProxy: 'http://svc@proxy:1' }],
  ];
  for (const [flags, environment, expected] of cases) {
    t.match(
      loadConfig(flags, environment).settings,
      expected,
      JSON.stringify([flags, environment]),
    );
  }
});

test('an invalid value, name or combination is rejected with a valid alternative', async (t) => {
  const cases: [string[], Record<string, string>, RegExp][] = [
    [[], { SVC_LISTN: 'x' }, /^SVC_LISTN is not a setting: did you mean SVC_LISTEN\?/],
    [[], { SVC_PORT: '8080' }, /^SVC_PORT is not a setting/],
    [[], { SVC_QUITE_ELSE: '1' }, /lists all of them; unset it/],
    [['--lisen', ':1'], {}, /^--lisen is not a flag of svc serve: did you mean --listen\?/],
    [['data'], {}, /^"data" is not expected/],
    [['--data'], {}, /^--data has no value: give a path/],
    [['--data', 'a', '--data', 'b'], {}, /--data is given twice/],
    [['--listen', 'example.com:80'], {}, /^--listen must be .*names a host/],
    [[], { SVC_LISTEN: '8080' }, /^SVC_LISTEN must be an address and a port.*"8080" is not/],
    [[], { SVC_LISTEN: '127.0.0.1:99999' }, /port above 65535/],
    [[], { SVC_LISTEN: '0.0.0.0:8080' }, /keys would travel in the clear: set SVC_TLS_CERT_FILE/],
    [[], { SVC_LISTEN: '[::]:8080' }, /other machines can reach/],
    [[], { SVC_TLS_CERT_FILE: 'c' }, /needs SVC_TLS_KEY_FILE: a certificate/],
    [[], { SVC_TLS_KEY_FILE: 'k' }, /needs SVC_TLS_CERT_FILE: a certificate/],
    [[], { SVC_TRUSTED_PROXY: 'proxy.lan' }, /must be addresses and ranges.*"proxy.lan"/],
    [[], { SVC_METRICS_LISTEN: '0.0.0.0:9464' }, /SVC_METRICS_LISTEN must be on loopback/],
    [[], { SVC_SAMPLE_INTERVAL_SECONDS: '0' }, /whole number from 1 to 30: "0" is not/],
    [[], { SVC_SAMPLE_INTERVAL_SECONDS: '1e1' }, /whole number/],
    [[], { SVC_AUDIT_RETENTION_DAYS: '-5' }, /whole number from 1 to 3650/],
    [[], { SVC_RETENTION_DAYS: '6' }, /SVC_RETENTION_DAYS must be a whole number from 7 to 90/],
    [[], { SVC_HEAD_MIB: '16384' }, /SVC_HEAD_MIB must be a whole number from 64 to 8192/],
    [[], { SVC_FLUSH_MINUTES: '90' }, /SVC_FLUSH_MINUTES must be a whole number from 5 to 60/],
    [['--history-data'], {}, /--history-data has no value: give a path/],
    [[], { SVC_DEMO: 'maybe' }, /SVC_DEMO must be on or off: "maybe" is neither/],
    [[], { SVC_NATS_URL: 'http://a' }, /beginning with nats:\/\/ or tls:\/\//],
    [[], { SVC_PUBLIC_URL: 'https://a.b/c' }, /more than scheme, host and port \("\/c"\)/],
    [[], { SVC_ROLES: 'api' }, /"api", which is not/],
    [[], { SVC_LOG_LEVEL: 'loud' }, /one of debug, info, warn, error/],
    [[], { SVC_DATACENTER: 'a "b"' }, /^SVC_DATACENTER must be up to 63/],
    [[], { SVC_WEBHOOK_ALLOW: '10.0.0.0/99' }, /"10.0.0.0\/99", which is none of these/],
    [[], { SVC_WEBHOOK_ALLOW: '2130706433' }, /none of these/],
    [[], { SVC_WEBHOOK_ALLOW: 'a,,b' }, /empty item/],
    [[], { SVC_WEBHOOK_ALLOW_HTTP: 'on' }, /needs SVC_WEBHOOK_ALLOW/],
    [[], { SVC_WEBHOOK_DENY: '10.0.0.0/99' }, /which is none of these/],
    [[], { SVC_WEBHOOK_NAT64: '2001:db8::/95' }, /which is none of these/],
    [[], { SVC_WEBHOOK_NAT64: '10.0.0.0/32' }, /which is none of these/],
    [[], { SVC_WEBHOOK_PROXY: 'socks5://proxy:1080' }, /^SVC_WEBHOOK_PROXY must be http:/],
    [[], { SVC_WEBHOOK_PROXY: 'http://proxy:3128/path' }, /more than a host/],
    [[], { SVC_WEBHOOK_PROXY: 'http://u:p%zz@proxy:3128' }, /not percent-encoded/],
    [
      ['--webhook-proxy', 'http://u:hush@proxy:1'],
      {},
      /--webhook-proxy has a login.*PASSWORD_FILE/,
    ],
    [[], { SVC_WEBHOOK_PROXY_PASSWORD_FILE: '/p' }, /needs SVC_WEBHOOK_PROXY: the proxy/],
    [
      [],
      { SVC_WEBHOOK_PROXY: 'http://proxy:1', SVC_WEBHOOK_PROXY_PASSWORD_FILE: '/p' },
      /needs a user in SVC_WEBHOOK_PROXY/,
    ],
    [
      [],
      { SVC_WEBHOOK_PROXY: 'http://u:hush@proxy:1', SVC_WEBHOOK_PROXY_PASSWORD_FILE: '/p' },
      /are the same thing: set only one/,
    ],
    [[], { SVC_COLLECT: 'none,host' }, /none beside a source/],
    [[], { SVC_OIDC_ISSUER: 'https://id.example' }, /needs SVC_OIDC_CLIENT_ID/],
    [[], { SVC_OIDC_CLIENT_ID: 'svc' }, /needs SVC_OIDC_ISSUER/],
    [[], { SVC_OIDC_CLIENT_SECRET_FILE: 's' }, /needs SVC_OIDC_ISSUER/],
    [[], { SVC_OIDC_ISSUER: 'http://id.example', SVC_OIDC_CLIENT_ID: 'svc' }, /https address/],
    [[], { SVC_OIDC_ISSUER: 'https://id.example/?a=b', SVC_OIDC_CLIENT_ID: 'c' }, /has more than/],
    [[], { SVC_SMTP_FROM: 'svc@example.com' }, /needs SVC_SMTP_URL/],
    [
      [],
      { SVC_SMTP_URL: 'smtp://m', SVC_SMTP_FROM: 'a@b.c\r\nBcc: d@e.f' },
      /SVC_SMTP_FROM must be/,
    ],
    [[], { SVC_SMTP_URL: 'smtp://u:hidden@m/?x=1' }, /its value has more than a host/],
    [
      [],
      { SVC_SMTP_URL: 'smtp://u:p%zz@m' },
      /has a login that is not percent-encoded: write % as %25/,
    ],
    [[], { SVC_NATS_URL: 'nats://u:p%zz@m' }, /has a login that is not percent-encoded/],
    [[], { SVC_COLLECT: 'host', SVC_DEMO: 'off' }, /needs the project demo/],
  ];
  for (const [flags, environment, expected] of cases) {
    const problems = problemsOf(flags, environment);
    t.equal(problems.length, 1, `one problem in ${JSON.stringify([flags, environment])}`);
    t.match(problems[0], expected);
  }
});

test('all problems are reported at once, without the value of a secret setting', async (t) => {
  const problems = problemsOf(['--nats-url', 'ftp://me:hunter2@nats'], {
    SVC_DEMO: '7',
    SVC_ROLE: 'all',
  });
  t.equal(problems.length, 3);
  t.notMatch(problems.join('\n'), /hunter2/);
  t.match(problems.join('\n'), /SVC_ROLE is not a setting: did you mean SVC_ROLES/);
});

test('variables that Kubernetes injects are ignored with a warning, those of other commands silently', async (t) => {
  const injected = {
    SVC_SERVICE_HOST: '10.96.0.12',
    SVC_SERVICE_PORT: '8080',
    SVC_SERVICE_PORT_HTTP: '8080',
    SVC_PORT: 'tcp://10.96.0.12:8080',
    SVC_PORT_8080_TCP: 'tcp://10.96.0.12:8080',
    SVC_PORT_8080_TCP_ADDR: '10.96.0.12',
    SVC_NATS_SERVICE_HOST: 'fd00::1',
  };
  const others = { SVC_API_KEY: 'k', SVC_TRUST: 't', SVC_REEXEC: '1', SVC_TEST_REQUIRE: 'all' };
  const { warnings } = loadConfig([], { ...injected, ...others });
  t.equal(warnings.length, Object.keys(injected).length);
  t.ok(warnings.every((warning) => /is ignored: Kubernetes injects it/.test(warning)));
});

test('a service that listens beyond loopback without a public URL logs a warning', async (t) => {
  const warned = (environment: Record<string, string>) => loadConfig([], environment).warnings;
  const tls = { SVC_TLS_CERT_FILE: 'c', SVC_TLS_KEY_FILE: 'k' };
  t.match(warned({ SVC_TRUSTED_PROXY: '10.0.0.1' }), [/^SVC_TRUSTED_PROXY lets others .* sign in/]);
  t.match(warned({ ...tls, SVC_LISTEN: '0.0.0.0:8443' }), [/^SVC_LISTEN lets others reach/]);
  t.same(warned({ ...tls, SVC_LISTEN: '0.0.0.0:8443', SVC_PUBLIC_URL: 'https://a.b' }), []);
  t.same(warned(tls), []);
});

test('a public URL whose cookies other programs of the machine get logs a warning', async (t) => {
  const warned = (url: string) => loadConfig([], { SVC_PUBLIC_URL: url }).warnings;
  for (const url of ['http://localhost:8080', 'http://127.0.0.1:8080', 'http://[::1]:8080']) {
    t.match(warned(url), [/^SVC_PUBLIC_URL is http.* every port of the machine: leave it out/]);
  }
  t.same(warned('http://svc.localhost:8080'), []);
  t.same(warned('https://localhost:8443'), []);
});

test('docs/configuration.md and svc help serve match the settings table', async (t) => {
  t.equal(readFileSync(page, 'utf8'), settingsPage(), 'npm run generate updates it');
  for (const { name } of Object.values(settingsTable)) {
    t.match(settingsHelp(), `--${flagOf(name)}, ${name}\n`);
    t.match(settingsPage(), `| \`${name}\` |`);
  }
});

test('closestName finds a misspelt name and ignores an unrelated one', async (t) => {
  t.equal(closestName('serv', ['serve', 'version']), 'serve');
  t.equal(
    closestName('SVC_TLS_CERTFILE', ['SVC_TLS_KEY_FILE', 'SVC_TLS_CERT_FILE']),
    'SVC_TLS_CERT_FILE',
  );
  t.equal(closestName('banana', ['serve', 'version']), undefined);
});

function surroundings(environment: Record<string, string> = {}) {
  const out = { stdout: '', stderr: '', log: '', exits: [] as number[] };
  const listeners = new Set<(signal: StopSignal) => void>();
  const given: Surroundings = {
    environment,
    stdout: (text) => {
      out.stdout += text;
    },
    stderr: (text) => {
      out.stderr += text;
    },
    log: (line) => {
      out.log += line;
    },
    isTerminal: false,
    onSignal: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    exitNow: (code) => void out.exits.push(code),
  };
  const signal = (name: StopSignal): void => {
    for (const listener of listeners) listener(name);
  };
  return { out, given, signal, listeners };
}

test('svc answers help, version, unknown commands and a missing command, and exits', async (t) => {
  const cases: [string[], number, 'stdout' | 'stderr', RegExp][] = [
    [[], 0, 'stdout', /serve\s+Run the service/],
    [['--help'], 0, 'stdout', /Usage: svc <command>/],
    [['help', 'serve'], 0, 'stdout', /--listen, SVC_LISTEN/],
    [['serve', '--help'], 0, 'stdout', /--listen, SVC_LISTEN/],
    [['--version'], 0, 'stdout', /^svc \d+\.\d+\.\d+ \(node 2\d/],
    [['sevre'], 2, 'stderr', /"sevre" is not a command: did you mean "svc serve"\?/],
    [['help', 'xyz'], 2, 'stderr', /"svc help" lists the commands/],
    [['serve', '--listn', ':1'], 2, 'stderr', /failed to start:\n {2}--listn is not a flag/],
  ];
  for (const [argv, code, stream, expected] of cases) {
    const { out, given } = surroundings();
    t.equal(await runProgram(argv, given), code, argv.join(' '));
    t.match(out[stream], expected);
  }
});

test('a command is found under the name in its help', async (t) => {
  for (const { name } of await allCommands()) {
    const { out, given } = surroundings();
    t.equal(await runProgram([name, '--help'], given), 0, name);
    t.match(out.stdout, `svc ${name}`);
  }
});

interface Started {
  readonly service: RunningService;
  readonly fail: (error: Error) => void;
  readonly calls: string[];
}

function fakeService(): Started {
  const calls: string[] = [];
  const { promise: fault, resolve: fail } = Promise.withResolvers<Error>();
  const service: RunningService = {
    address: 'http://127.0.0.1:8080',
    metricsUrl: undefined,
    watches: ['this host'],
    demoFile: "/tmp/it's/demo.json",
    signInUrl: 'http://127.0.0.1:8080/auth/link#svc_link_1',
    fault,
    readiness: () => ({ ready: true, serving: true, parts: [] }),
    reload: () => void calls.push('reload'),
    stop: async () => void calls.push('stop'),
  };
  return { service, fail, calls };
}

test('svc serve prints at most five lines, reloads on SIGHUP, stops on SIGTERM with exit code 0', async (t) => {
  const { service, calls } = fakeService();
  const { out, given, signal, listeners } = surroundings({
    SVC_SERVICE_HOST: '10.0.0.1',
  });
  const started = Promise.withResolvers<void>();
  const code = createServeCommand(async ({ settings }) => {
    t.equal(settings.datacenter, 'DC-7');
    setImmediate(started.resolve);
    return service;
  }).run(['--datacenter', 'DC-7'], given);
  await started.promise;
  t.ok(out.stdout.trimEnd().split('\n').length <= 5);
  t.match(
    out.stdout,
    /watches this host \(DC-7\) every 30 s; .*\ndashboard and API on http:\/\/127.0.0.1:8080/,
  );
  t.match(out.stdout, `'/tmp/it'\\''s/demo.json' | curl`);
  t.notMatch(out.stdout, 'svc_link', 'output that is not a terminal may be a log');
  t.match(out.log, /SVC_SERVICE_HOST is ignored: Kubernetes injects it/);
  signal('SIGHUP');
  signal('SIGTERM');
  signal('SIGTERM');
  t.equal(await code, 0);
  t.same(calls, ['reload', 'stop']);
  t.same(out.exits, [], 'a signal that a parent passes on again counts once');
  t.equal(listeners.size, 0);
});

test('DASH-01: svc serve reports a missing dashboard with the command to run', async (t) => {
  const { service, fail } = fakeService();
  const { out, given } = surroundings();
  const dashboardFault = 'The dashboard is not built. Run "npm run dashboard"';
  const code = createServeCommand(async () => ({ ...service, dashboardFault })).run([], given);
  fail(new Error('The end'));
  await code;
  t.match(out.stdout, /\nAPI on http:\/\/127.0.0.1:8080\n/);
  t.match(out.stdout, `\n${dashboardFault}\n`);
});

test('svc serve prints the first owner’s link on a terminal', async (t) => {
  const { service, fail } = fakeService();
  const { out, given } = surroundings();
  const terminal = { ...given, isStdoutTerminal: true };
  const code = createServeCommand(async () => service).run([], terminal);
  fail(new Error('The end'));
  await code;
  t.match(out.stdout, '\n  http://127.0.0.1:8080/auth/link#svc_link_1\n');
});

test('svc serve stops the service and exits with code 1 after a fatal error', async (t) => {
  const { service, fail, calls } = fakeService();
  const { out, given } = surroundings();
  const code = createServeCommand(async () => service).run([], given);
  fail(new Error('The stream was recreated'));
  t.equal(await code, 1);
  t.same(calls, ['stop']);
  t.match(out.log, /The stream was recreated/);
});

test('a known start-up error is reported in one sentence, an unknown one with its stack', async (t) => {
  const cases: [Error, number, RegExp, RegExp][] = [
    [
      new FolderLocked('The folder is in use'),
      1,
      /failed to start:\n {2}The folder is in use\n$/,
      /at /,
    ],
    [new ConfigError(['One', 'Two']), 2, /failed to start:\n {2}One\n {2}Two\n$/, /at /],
    [new TypeError('x is undefined'), 1, /failed unexpectedly: TypeError: x is.*\n +at /, /start:/],
  ];
  for (const [fault, code, expected, unexpected] of cases) {
    const { out, given, listeners } = surroundings();
    const command = createServeCommand(async () => {
      throw fault;
    });
    t.equal(await runCommand(command, [], given), code);
    t.match(out.stderr, expected);
    t.notMatch(out.stderr, unexpected);
    t.equal(listeners.size, 0);
  }
});

test('the log is JSON lines or readable text, with the clock’s time and without secrets', async (t) => {
  const clock = new VirtualClock(Date.UTC(2026, 0, 2, 3, 4, 5, 6));
  const lines: string[] = [];
  const write = (line: string): void => void lines.push(line);
  const key = `svc_sk_01ABC_${'x'.repeat(49)}`;
  const log = createLog({ level: 'info', readable: false, clock, write });
  log.debug({}, 'not written');
  log
    .child({ part: 'api' })
    .warn({ headers: { authorization: key }, err: new Error(`bad ${key}`) }, 'Reported');
  t.equal(lines.length, 1);
  const parsed = JSON.parse(lines[0] ?? '') as Record<string, unknown>;
  t.match(parsed, {
    level: 'warn',
    time: '2026-01-02T03:04:05.006Z',
    part: 'api',
    msg: 'Reported',
  });
  t.notMatch(lines[0], 'xxxx');
  t.match(lines[0], 'svc_sk_01ABC_[redacted]');
  createLog({ level: 'info', readable: true, clock, write }).info({ part: 'a', n: 1 }, 'Read me');
  t.equal(lines[1], '03:04:05.006 INFO  Read me  part=a  n=1\n');
  t.equal(
    scrubSecrets('whsec_AAEC+/= Bearer abc.def nats://me:pw@host https://a.b/c'),
    'whsec_[redacted] Bearer [redacted] nats://[redacted]@host https://a.b/c',
  );
});
