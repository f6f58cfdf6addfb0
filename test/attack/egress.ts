/**
 * Egress: with an egress proxy that connects to anything, it receives no request for a denied or
 * private host in any notation, and allowed hosts pass it.
 */
import { connect } from 'node:net';
import { type ConnectProxy, startConnectProxy } from '../support/connect-proxy.ts';
import { LITERALS } from './address-forms.ts';
import { startCanaries, tryDestination, untilAttempted } from './addresses.ts';
import { type Arena, inParallel } from './arena.ts';
import { ALLOWED_ADDRESS, Undo } from './target.ts';

const WIDTH = 6;
/** Allowed by the range of the allow list, and denied. */
const DENIED_ADDRESS = '127.99.0.66';
const DENIED_NAME = 'denied.example';

/** The proxy of the program under attack. */
let proxy: ConnectProxy | undefined;

/** Starts the proxy, and resolves with the settings of the program that uses it. */
export async function egressSettings(undo: Undo): Promise<Readonly<Record<string, string>>> {
  proxy = await startConnectProxy(undo, { addressOf: (host) => host.replace(/^\[|\]$/g, '') });
  return {
    SVC_WEBHOOK_ALLOW: `127.99.0.0/24,${DENIED_NAME}`,
    SVC_WEBHOOK_DENY: `${DENIED_ADDRESS},${DENIED_NAME},8.8.8.0/24`,
    SVC_WEBHOOK_PROXY: `http://svc:attack@127.0.0.1:${proxy.port}`,
  };
}

/** A denied or private host, and whether the service refuses it when it is saved. */
const REFUSED: readonly (readonly [host: string, mustRefuse: boolean])[] = [
  ...LITERALS.map((host) => [host, true] as const),
  ...[
    DENIED_ADDRESS,
    '0x7f630042',
    '2137194562',
    '127.99.66',
    `[::ffff:${DENIED_ADDRESS}]`,
    `[64:ff9b::${DENIED_ADDRESS}]`,
    '[2002:7f63:42::1]',
    DENIED_NAME,
    'DENIED.example',
    `${DENIED_NAME}.`,
    '8.8.8.8',
    '[::ffff:8.8.8.8]',
    '[64:ff9b::808:808]',
  ].map((host) => [host, true] as const),
  ['localhost', false],
  ['localhost.', false],
  ['sub.localhost', false],
];

export async function attackEgress(arena: Arena): Promise<void> {
  if (!proxy) throw new Error('The program was started without a proxy');
  const { requested } = proxy;
  const undo = new Undo();
  try {
    const canaries = await startCanaries(undo);
    await arena.target.admin('limits', 'set', arena.attacker.id, '--destinations', '100');
    const urlsOf = (host: string) => [`https://${host}:${canaries.port}/x`, `https://${host}/x`];
    const tries = REFUSED.flatMap(([host, mustRefuse]) =>
      urlsOf(host).map((url) => ({ url, mustRefuse })),
    );
    await inParallel(tries, WIDTH, async ({ url, mustRefuse }, number) => {
      const name = `webhook to ${url}`;
      await tryDestination(arena, { name, kind: 'webhook', url, mustRefuse }, number);
    });
    const allowed = { name: 'control', kind: 'webhook', url: arena.target.receiverUrl } as const;
    await tryDestination(arena, { ...allowed, mustRefuse: false }, tries.length);
    await untilAttempted(arena);
    const hosts = requested.map(({ target }) => target.replace(/:\d+$/, ''));
    const others = [...new Set(hosts.filter((host) => !isOpen(host)))];
    const passed = hosts.includes(ALLOWED_ADDRESS);
    for (const [name, why] of [
      ['the proxy got no refused host', others.length > 0 && `it got ${others.join(', ')}`],
      ['an allowed host passed the proxy', !passed && 'the proxy got no request for it'],
      ['no request reached the listeners', canaries.visits.length > 0 && canaries.visits.join()],
      ['every request had the login', requested.some(isWithoutLogin) && 'one had none'],
    ] as const) {
      arena.tally.record({ name, why: why === false ? undefined : why });
    }
    await assertProxyWorks(canaries.port);
  } finally {
    await undo.all();
  }
}

/** Names of the tenant's own destinations, which exist nowhere. */
function isOpen(host: string): boolean {
  const isDenied = host.toLowerCase().replace(/\.$/, '') === DENIED_NAME;
  return host === ALLOWED_ADDRESS || (/\.(?:example|test|com)\.?$/.test(host) && !isDenied);
}

function isWithoutLogin({ authorization }: { readonly authorization: string | undefined }) {
  return authorization !== `Basic ${Buffer.from('svc:attack').toString('base64')}`;
}

/** The proxy itself refuses nothing; otherwise the class would hold by its rules. */
async function assertProxyWorks(port: number): Promise<void> {
  const socket = connect(proxy?.port ?? 0, '127.0.0.1');
  socket.write(`CONNECT 127.0.0.1:${port} HTTP/1.1\r\nHost: x\r\n\r\n`);
  const answer = await new Promise<string>((resolve) => {
    socket.once('data', (chunk) => resolve(chunk.toString('latin1')));
    socket.once('close', () => resolve(''));
    socket.once('error', () => resolve(''));
  });
  socket.destroy();
  if (!answer.startsWith('HTTP/1.1 200')) throw new Error('The proxy connects to nothing');
}
