/**
 * `svc logout`: ends the session at the service and forgets it here. Forgotten it is in any case:
 * a service that cannot be reached must not keep somebody signed in on a machine they leave.
 */
import { openAccess } from '../client/access.ts';
import { single } from '../client/action.ts';
import { json } from '../client/output.ts';
import { asApiFault, askPlainly } from '../client/plain-http.ts';
import { removeSession, sessionPath } from '../client/session-file.ts';
import { EXIT_OK } from '../command.ts';

export const logoutCommand = single({
  name: 'logout',
  summary: 'Sign out on this machine, or everywhere',
  options: [{ name: 'everywhere', help: 'End all of your sessions, on every machine' }],
  notes: 'What is kept on this machine is removed even when the service cannot be reached.',
  async run({ environment, input, ports, timeoutMs, json: asJson, print }) {
    // Where the session was made, whatever SVC_ENDPOINT says by now.
    const own = { ...environment, SVC_ENDPOINT: undefined };
    const access = openAccess({ endpoint: undefined, caller: 'person', environment: own, ports });
    const everywhere = input.isOn('everywhere');
    const { endpoint, headers } = access;
    try {
      const answer = await askPlainly({
        method: 'POST',
        url: `${endpoint}/auth/logout`,
        headers: { ...headers(), 'content-type': 'application/json' },
        body: JSON.stringify({ everywhere }),
        timeoutMs,
      });
      // 401: the session had ended by itself, which is what was wanted.
      if (answer.status !== 200 && answer.status !== 401) throw asApiFault(answer);
    } finally {
      removeSession(sessionPath(environment, ports.homeFolder));
    }
    if (asJson) print(json({ endpoint, everywhere }));
    else print(`Signed out at ${endpoint}${everywhere ? ', everywhere' : ''}\n`);
    return EXIT_OK;
  },
});
