/**
 * No displayed address contains its login or a token in its query: first the function itself, then
 * every setting, given an address with a secret in each possible place.
 */
import { test } from 'tap';
import { complaintOf } from '../../actors/telemetry/collectors/libvirt/virsh.ts';
import { settingsHelp } from '../../src/cli/settings-page.ts';
import { createHealth, operatorReport } from '../../src/platform/health.ts';
import { createLog } from '../../src/platform/log.ts';
import { loadConfig } from '../../src/platform/settings/config.ts';
import { flagOf, settingsTable } from '../../src/platform/settings/settings.ts';
import { systemClock } from '../../streams/platform/clock.ts';
import { redactedUrl, withoutLogins } from '../../streams/platform/redacted-url.ts';

test('one address', async (t) => {
  for (const [given, displayed] of [
    ['nats://u:p@h:4222', 'nats://[redacted]@h:4222'],
    ['nats://token@h', 'nats://[redacted]@h'],
    ['nats://u:p@a,nats://u:p@b', 'nats://[redacted]@b'],
    ['nats://u:p/with@more?of#it@h', 'nats://[redacted]@h'],
    ['https://u:p@h/a/b', 'https://[redacted]@h/a/b'],
    ['https://h/@scope/x', 'https://h/@scope/x'],
    ['https://h/a?token=x@y', 'https://h/a?[redacted]'],
    ['https://h/a#token', 'https://h/a?[redacted]'],
    ['https://h:port/p@x', 'https://[redacted]@x'],
    ['u:p@h:80', '[redacted]@h:80'],
    ['127.0.0.1:8080', '127.0.0.1:8080'],
    ['qemu:///system', 'qemu:///system'],
    ['', ''],
  ] as const) {
    t.equal(redactedUrl(given), displayed, given);
  }
});

test('addresses within a text', async (t) => {
  for (const [given, displayed] of [
    ['dial nats://u:p@h:1, refused', 'dial nats://[redacted]@h:1, refused'],
    ['at smtp://u:p/q@h and https://t@i/', 'at smtp://[redacted]@h and https://[redacted]@i/'],
    ['"https://u:p@h/x" mailed to a@b', '"https://[redacted]@h/x" mailed to a@b'],
    ['https://h/x?by=a@b is plain', 'https://h/x?by=a@b is plain'],
    ['https://[::1]:80/@x', 'https://[::1]:80/@x'],
    ['https://u:12a/s@h', 'https://[redacted]@h'],
  ] as const) {
    t.equal(withoutLogins(given), displayed, given);
  }
  const long = 'a://'.repeat(20_000);
  t.equal(withoutLogins(long), long, 'a long text is processed in linear time');
});

const SECRET = 'hunter2';
const hostile = [
  `https://user:${SECRET}@host.example`,
  `https://${SECRET}@host.example/x`,
  `https://user:a/${SECRET}@host.example`,
  `https://user:a,${SECRET}@host.example`,
  `https://user:${SECRET},b@host.example`,
  `https://host.example/?token=${SECRET}`,
  `ftp://user:${SECRET}@host.example/path`,
  `nats://user:a b${SECRET}@host.example`,
  `nats://user:${SECRET}@host.example/path`,
  `nats://user:${SECRET}@a,nats://user:other@b`,
  `smtp://user:${SECRET}@host.example/path`,
  `user:${SECRET}@host.example:80`,
  `own=github@https://user:${SECRET}@host.example`,
  `own=github@https://user:${SECRET},b@host.example`,
  `own=github@https://host.example/?token=${SECRET}`,
  `own=github@https://a.example;keys=https://user:${SECRET}@host.example`,
  `hooks.lan,https://user:${SECRET}@host.example`,
  `10.0.0.0/8,user:${SECRET}@host.example`,
];

function everySaid(args: readonly string[], environment: Readonly<Record<string, string>>): string {
  try {
    return loadConfig(args, environment).warnings.join('\n');
  } catch (error) {
    return `${(error as Error).stack}\n${JSON.stringify(error)}`;
  }
}

for (const { name } of Object.values(settingsTable)) {
  test(`${name} with a secret in an address`, async (t) => {
    for (const value of hostile) {
      const said = [
        everySaid([], { [name]: value }),
        everySaid([`--${flagOf(name)}`, value], {}),
        everySaid([`--${flagOf(name)}=${value}`, value], {}),
        everySaid([`--${flagOf(name)}x`, value], {}),
      ];
      for (const text of said) t.notMatch(text, SECRET, value);
    }
  });
}

test('a log line, a reason of health, an error of virsh, help', async (t) => {
  const lines: string[] = [];
  const write = (line: string) => void lines.push(line);
  const log = createLog({ level: 'debug', readable: false, clock: systemClock, write });
  const health = createHealth({ clock: systemClock, log });
  t.teardown(() => health.close());
  const address = `qemu+ssh://user:${SECRET}@host/system`;
  log.warn({ url: `nats://user:a/${SECRET}@host`, err: new Error(address) }, `At ${address}`);
  health.watch({ kind: 'stream' }, () => {
    throw new Error(`Cannot connect to nats://user:${SECRET}@host`);
  });
  const libvirt = { uri: address, clock: systemClock, run: async () => t.fail('nothing runs') };
  const stderr = `error: failed to connect to '${address}'`;
  const outcome = { kind: 'exited', code: 1, stdout: '', stderr } as const;
  const complaint = complaintOf(libvirt as never, outcome as never);
  const report = JSON.stringify(operatorReport(health.report()));
  for (const text of [...lines, report, JSON.stringify(complaint), settingsHelp()]) {
    t.notMatch(text, SECRET);
  }
  t.match(complaint?.message, 'libvirt at qemu+ssh://[redacted]@host/system');
  t.match(report, 'nats://[redacted]@host');
});
