/**
 * How tests reserve ports of this machine: no two processes get the same port, and a start whose
 * port another program has taken is retried on other ports.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'tap';
import { onOwnPorts, PortTaken, reservePort, saysPortTaken } from '../support/places.ts';

const MANY = 40;
const RESERVING = `
  const { reservePort } = await import(${JSON.stringify(import.meta.resolve('../support/places.ts'))});
  const ports = [];
  while (ports.length < ${MANY}) ports.push(await reservePort(7_000));
  process.stdout.write(JSON.stringify(ports));
  process.stdin.resume();
`;

test('processes that reserve at the same time get different ports', async (t) => {
  const children = [1, 2, 3].map(() => {
    const child = spawn(process.execPath, ['--input-type=module', '--eval', RESERVING]);
    t.teardown(() => child.kill('SIGKILL'));
    child.stderr.pipe(process.stderr);
    return child;
  });
  const lines = await Promise.all(children.map(({ stdout }) => once(stdout, 'data')));
  const ports = lines.flatMap(([line]) => JSON.parse(String(line)) as number[]);
  t.equal(new Set(ports).size, 3 * MANY);
  t.ok(
    ports.every((port) => port < 32_768),
    'none is in the range for outgoing connections',
  );
});

test('a process gets each port only once', async (t) => {
  const ports = await Promise.all(Array.from({ length: MANY }, () => reservePort(9_000)));
  t.equal(new Set(ports).size, MANY);
});

test('a start whose port is taken is retried on another', async (t) => {
  const tried: number[] = [];
  const started = await onOwnPorts(2, async ([first = 0, second = 0]) => {
    tried.push(first, second);
    if (tried.length < 6) throw new PortTaken('nats-server', 'bind: address already in use');
    return second;
  });
  t.equal(new Set(tried).size, 6, 'two new ports each time');
  t.equal(started, tried.at(-1));
  const never = onOwnPorts(1, async () => {
    throw new PortTaken('nginx', 'bind() to 127.0.0.1:1 failed (98: Address already in use)');
  });
  await t.rejects(never, { name: 'PortTaken', message: /^nginx found its port taken.*\n.*98/ });
  const broken = onOwnPorts(1, () => Promise.reject(new Error('a bad configuration')));
  await t.rejects(broken, { message: 'a bad configuration' }, 'other errors are not retried');
  t.ok(saysPortTaken('Error: listen EADDRINUSE: address already in use 127.0.0.1:80'));
  t.notOk(saysPortTaken('no such file'));
});
