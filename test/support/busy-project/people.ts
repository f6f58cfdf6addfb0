/**
 * People at a running service, with what their browsers do: they sign in with links and call with a
 * cookie.
 */
import { programOrigin } from '../../../src/cli/client/access.ts';
import type { Answer } from '../program.ts';

export interface Person {
  /** Calls a method with the session's cookie. Throws unless the status is 200. */
  call(method: string, request: object): Promise<Record<string, unknown>>;
  readonly cookie: { readonly name: string; readonly value: string };
}

/**
 * Uses up a one-time link for sign-in or an invitation.
 * @param agent the User-Agent by which the session is known
 */
export async function signInBy(link: string, agent = 'node'): Promise<Person> {
  const { hash } = new URL(link);
  // The name of its pages resolves in browsers only.
  const origin = programOrigin(link);
  const answer = await fetch(`${origin}/auth/link`, {
    method: 'POST',
    headers: {
      accept: 'application/json',
      'content-type': 'application/json',
      origin,
      'user-agent': agent,
    },
    body: JSON.stringify({ token: hash.slice(1) }),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`The link was answered ${answer.status}: ${text.slice(0, 300)}`);
  const { session } = JSON.parse(text) as { session: { secret: string; cookieName: string } };
  const cookie = { name: session.cookieName, value: session.secret };
  return { cookie, call: (method, request) => call(origin, cookie, method, request) };
}

async function call(
  origin: string,
  cookie: Person['cookie'],
  method: string,
  request: object,
): Promise<Record<string, unknown>> {
  const answer = await fetch(`${origin}/svc.${method}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'connect-protocol-version': '1',
      origin,
      cookie: `${cookie.name}=${cookie.value}`,
    },
    body: JSON.stringify(request),
  });
  return bodyOf(method, { status: answer.status, body: JSON.parse(await answer.text()) });
}

/** Body of an answer with status 200. Otherwise throws with the answer. */
export function bodyOf(method: string, { status, body }: Pick<Answer, 'status' | 'body'>) {
  if (status === 200) return body;
  throw new Error(`${method} answered ${status}: ${JSON.stringify(body).slice(0, 300)}`);
}
