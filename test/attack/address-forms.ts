/** Non-public addresses, names that resolve to them, and URLs that two parsers read differently. */
import { ALLOWED_ADDRESS } from './target.ts';

/** Literals in various forms, all of which are rejected when they are saved. */
export const LITERALS: readonly string[] = [
  ...[
    '127.0.0.1',
    '127.1',
    '127.0.1',
    '127.0.0.2',
    '127.255.255.254',
    '0x7f.1',
    '0x7f000001',
    '2130706433',
    '017700000001',
  ],
  ...[
    '0177.0.0.1',
    '127.0.0.1.',
    '127.000.000.001',
    '0x7F.0x0.0x0.0x1',
    '0',
    '0.0.0.0',
    '0.0.0.1',
    '0x0',
    '00',
    '127.0.0.1%2e',
  ],
  ...[
    '10.0.0.1',
    '10.255.255.255',
    '012.0.0.1',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.0.1',
    '192.168.255.255',
    '3232235521',
  ],
  ...[
    '169.254.169.254',
    '169.254.0.1',
    '2852039166',
    '0xa9fea9fe',
    '100.64.0.1',
    '100.127.255.255',
    '100.100.100.200',
    '168.63.129.16',
  ],
  ...[
    '192.0.0.1',
    '192.0.0.170',
    '192.0.2.1',
    '198.18.0.1',
    '198.19.255.255',
    '198.51.100.1',
    '203.0.113.1',
    '192.88.99.1',
  ],
  ...['224.0.0.1', '239.255.255.250', '240.0.0.1', '255.255.255.255'],
  ...[
    '[::1]',
    '[::]',
    '[0:0:0:0:0:0:0:1]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[::ffff:0:127.0.0.1]',
    '[::127.0.0.1]',
    '[::7f00:1]',
  ],
  ...[
    '[::ffff:10.0.0.1]',
    '[::ffff:169.254.169.254]',
    '[64:ff9b::127.0.0.1]',
    '[64:ff9b::a00:1]',
    '[64:ff9b:1::7f00:1]',
    '[2002:7f00:1::]',
  ],
  ...[
    '[2002:a00:1::]',
    '[2001:0:7f00:1::]',
    '[2001::1]',
    '[fe80::1]',
    '[febf::1]',
    '[fec0::1]',
    '[fc00::1]',
    '[fd00:ec2::254]',
    '[ff02::1]',
  ],
  ...[
    '[ff0e::1]',
    '[100::1]',
    '[100::]',
    '[2001:db8::1]',
    '[3fff::1]',
    '[::5efe:127.0.0.1]',
    '[fe80::5efe:127.0.0.1]',
    '[2a00:1450::5efe:7f00:1]',
    '[2a00:1450::200:5efe:10.0.0.1]',
  ],
  ...['１２７.０.０.１', '①②⑦.⓪.⓪.①', '127。0。0。1', '127．0．0．1', '①⓪.0.0.1'],
];

/**
 * Names that resolve, or may resolve, to this machine: they may be saved, but nothing may arrive.
 */
export const NAMES: readonly string[] = [
  ...[
    'localhost',
    'LOCALHOST',
    'localhost.',
    'a.localhost',
    'ip6-localhost',
    'ip6-loopback',
    'localhost.localdomain',
    'ⓛocalhost',
  ],
  ...[
    'metadata.google.internal',
    'instance-data',
    'kubernetes.default.svc',
    'host.docker.internal',
    '127.0.0.1.nip.io',
    'localtest.me',
    'gateway',
  ],
];

/** URLs around the canaries' port that two parsers may read differently. */
export function oddUrls(port: number): string[] {
  const here = `127.0.0.1:${port}`;
  return [
    ...[
      `https://example.com@${here}/`,
      `https://${here}@example.com/`,
      `https://user:pass@${here}/`,
      `https://example.com:pass@${here}`,
    ],
    ...[
      `https://${here}#@example.com/`,
      `https://${here}\\@example.com/`,
      `https://example.com\\@${here}/`,
      `https:\\\\${here}\\`,
      `https:${here}/`,
    ],
    ...[
      `https:///${here}/`,
      `https:////${here}/`,
      `//${here}/`,
      `${here}`,
      `https://example.com%2f@${here}/`,
      `https://example.com%00.${here}/`,
    ],
    ...[
      `https://[::1%25lo]:${port}/`,
      `https://[::1]%00:${port}/`,
      `https://::1:${port}/`,
      `https://127.0.0.1:${port}:443/`,
      `https://127.0.0.1:0${port}/`,
    ],
    ...[
      `ftp://${here}/`,
      `file:///etc/passwd`,
      `gopher://${here}/_x`,
      `data:text/plain,x`,
      `javascript:1`,
      `ws://${here}/`,
      `unix:/var/run/docker.sock`,
      `jar:https://${here}!/`,
    ],
    ...[
      `HTTPS://${here}/`,
      `https://${here}/\r\nx-evil: 1`,
      `https://exa mple.com/`,
      `https://${here}/?a=\u0000`,
      ` https://${here}/`,
      `https://\t${here}/`,
      `ht\ntps://${here}/`,
    ],
    ...[
      `http://${here}/`,
      `http://localhost:${port}/`,
      `http://[::1]:${port}/`,
      `http://${ALLOWED_ADDRESS}.nip.io:${port}/`,
      `http://${ALLOWED_ADDRESS}@127.0.0.1:${port}/`,
    ],
    ...[
      'https://example.com:99999/',
      'https://example.com:-1/',
      'https://',
      'https:',
      '',
      'x',
      `https://${'a'.repeat(3000)}.example/`,
      'https://..',
      'https://.',
    ],
  ];
}

/** URLs that only look like the hosts to which chats are pinned. */
export function chatUrls(
  port: number,
): readonly (readonly [kind: 'slack' | 'teams' | 'discord', url: string])[] {
  const address = `127.0.0.1:${port}`;
  return [
    ['slack', `https://hooks.slack.com@${address}/services/x`],
    ['slack', `https://hooks.slack.com.${address}/services/x`],
    ['slack', `https://hooks.slack.com:${port}@localhost/x`],
    ['slack', `https://${address}/hooks.slack.com/services/x`],
    ['teams', `https://x.logic.azure.com@${address}/`],
    ['teams', `https://${address}?.logic.azure.com`],
    ['teams', `https://${address}#.logic.azure.com`],
    ['teams', `https://${address}/.api.powerplatform.com`],
    ['discord', `https://discord.com@${address}/api/webhooks/1/x`],
    ['discord', `https://discord.com.localhost:${port}/api/webhooks/1/x`],
  ];
}
