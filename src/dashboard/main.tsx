/** The dashboard's entry in the browser: the router, the projects of the person, the frame. */
import { render } from 'preact';
import { Layout, MAIN_ID } from './layout/layout.tsx';
import { loadProjects } from './layout/projects.ts';
import { Outlet } from './pages/outlet.tsx';
import { startRouter } from './router/location.ts';

startRouter();
void loadProjects();
render(
  <Layout>
    <Outlet focusId={MAIN_ID} />
  </Layout>,
  document.getElementById('app') as HTMLElement,
);
