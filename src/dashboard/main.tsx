/** Entry point of the dashboard in the browser: the router, the user's projects and the frame. */
import { render } from 'preact';
import { startShortcuts } from './components/shortcuts.ts';
import { probe } from './data/call.ts';
import { loadProjects } from './data/projects.ts';
import { watchSession } from './data/session.ts';
import { Layout, MAIN_ID } from './layout/layout.tsx';
import { Outlet } from './pages/outlet.tsx';
import { startRouter } from './router/location.ts';

startRouter();
watchSession(probe);
startShortcuts();
// Records the signed-in user: a sign-in after the end of this session must be by the same one.
probe().catch(() => undefined);
// The browser's network events are verified by a request, because a service on the same machine
// needs no network.
for (const change of ['offline', 'online']) {
  window.addEventListener(change, () => void probe().catch(() => undefined));
}
void loadProjects();
render(
  <Layout>
    <Outlet focusId={MAIN_ID} />
  </Layout>,
  document.getElementById('app') as HTMLElement,
);
