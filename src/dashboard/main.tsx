/** The dashboard's entry in the browser: the router, the projects of the person, the frame. */
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
// Who is signed in now: a sign-in after this session's end must be theirs too.
probe().catch(() => undefined);
// What the browser says of its network is tried out: a service on the same machine needs none.
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
