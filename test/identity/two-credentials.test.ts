/**
 * Two Authorization headers may belong to two people, or one of them to a gateway: no route accepts
 * both. Node keeps only the first, so this is checked before anything else reads a header.
 */
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import type { FastifyInstance } from 'fastify';
import { test } from 'tap';
import { startSignInWorld } from '../support/sign-in-server.ts';

test('a request with two credentials is rejected by every route', async (t) => {
  const reached: string[] = [];
  const addRoutes = async (app: FastifyInstance) => {
    const note = async (request: { url: string }) => void reached.push(request.url);
    app.get('/plain', note);
    app.post('/svc.x.v1.X/Y', note);
  };
  const { address } = await startSignInWorld(t, {}, undefined, addRoutes);
  const { hostname, port } = new URL(address);
  const ask = (line: string, names: readonly string[]): Promise<string> => {
    const socket = connect(Number(port), hostname);
    const credentials = names.map((name) => `${name}: Bearer good\r\n`).join('');
    const length = line.startsWith('POST') ? 'content-length: 0\r\n' : '';
    const rest = `host: ${hostname}:${port}\r\nconnection: close\r\n${length}${credentials}\r\n`;
    socket.write(`${line} HTTP/1.1\r\n${rest}`);
    return text(socket);
  };
  const routes: readonly (readonly [line: string, type: string])[] = [
    ['GET /plain', 'application/json'],
    ['POST /svc.x.v1.X/Y', 'application/json'],
    ['GET /auth/sign-in', 'text/'],
    ['GET /nowhere', 'application/json'],
  ];
  for (const [line, type] of routes) {
    for (const second of ['authorization', 'AUTHORIZATION']) {
      const answer = await ask(line, ['authorization', second]);
      t.match(answer, new RegExp(`^HTTP/1.1 401 [^]*content-type: ${type}`), line);
      t.match(answer, /more than one Authorization header/, line);
    }
  }
  t.same(reached, []);
  t.match(await ask('GET /plain', ['authorization']), /^HTTP\/1.1 200 /, 'one is fine');
  t.same(reached, ['/plain']);
});
