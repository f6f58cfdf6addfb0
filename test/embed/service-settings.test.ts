/**
 * Typed settings of an embedded service: the same names, values and errors as those of `svc serve`.
 */
import { test } from 'tap';
import { configOf, type ServiceSettings } from '../../src/embed/service-settings.ts';
import { ConfigError, loadConfig } from '../../src/platform/settings/config.ts';
import { settingsTable } from '../../src/platform/settings/settings.ts';

test('each setting has the name of its variable, in camel case', async (t) => {
  for (const [key, { name }] of Object.entries(settingsTable)) {
    t.equal(`SVC_${key.replaceAll(/[A-Z]/g, '_$&').toUpperCase()}`, name);
  }
});

test('typed values equal their parsed texts, and all others have their defaults', async (t) => {
  const cases: readonly [ServiceSettings, Readonly<Record<string, string>>][] = [
    [{}, {}],
    [
      { demo: false, libvirtFilesystems: true },
      { SVC_DEMO: 'off', SVC_LIBVIRT_FILESYSTEMS: 'on' },
    ],
    [{ groupWaitSeconds: 0 }, { SVC_GROUP_WAIT_SECONDS: '0' }],
    [{ collect: ['host', 'libvirt'] }, { SVC_COLLECT: 'host,libvirt' }],
    [{ webhookPorts: ['443', '8000-8010'] }, { SVC_WEBHOOK_PORTS: '443,8000-8010' }],
    [
      { listen: '[::1]:0', metricsListen: 'off' },
      { SVC_LISTEN: '[::1]:0', SVC_METRICS_LISTEN: 'off' },
    ],
    [{ projectCreation: 'people', datacenter: undefined }, { SVC_PROJECT_CREATION: 'people' }],
  ];
  for (const [given, texts] of cases) t.same(configOf(given), loadConfig([], texts));
});

test('unknown, empty and invalid settings are named together', async (t) => {
  const problemsOf = (given: object) => {
    try {
      return configOf(given);
    } catch (error) {
      return error instanceof ConfigError && error.problems;
    }
  };
  t.same(problemsOf({ port: 80, toString: 'x', data: ' ', expandedDatacenters: [] }), [
    'There is no setting port',
    'There is no setting toString',
    'data is empty. Enter a value, or omit it to use its default',
    'expandedDatacenters is empty. Enter a value, or omit it to use its default',
  ]);
  t.match(problemsOf({ groupWaitSeconds: 301, listen: '0.0.0.0:80' }), [/^SVC_GROUP_WAIT_SECONDS/]);
  t.match(problemsOf({ listen: '0.0.0.0:80' }), [/^SVC_LISTEN/]);
});
