/** The page of a path, and the path of a page. */
import { test } from 'tap';
import { matchPath, pathOf } from '../../src/dashboard/router/match.ts';
import { routes } from '../../src/dashboard/routes.ts';

test('the first row of the table that matches a path selects its page', async (t) => {
  const cases: readonly (readonly [string, string | undefined, object?])[] = [
    ['/projects/demo', 'overview'],
    ['/projects/demo/incidents/01K', 'incident', { incident: '01K' }],
    ['/projects/demo/deliveries/d1', 'delivery', { delivery: 'd1' }],
    ['/projects/demo/vms/a%2Fb', 'vm', { vm: 'a/b' }],
    ['/projects/demo/nothing/d1', undefined],
    ['/projects/demo/vms/%zz', undefined],
    ['/projects//vms', undefined],
    ['/projects/demo/vms/', undefined],
  ];
  for (const [path, page, parameters = {}] of cases) {
    const match = matchPath(path);
    t.equal(match?.route.page, page, path);
    if (page) t.same(match?.parameters, { project: 'demo', ...parameters }, path);
  }
});

test('the path of a page leads to that page, whatever its parameters contain', async (t) => {
  for (const { path, page } of routes) {
    const names = path.split('/').filter((part) => part.startsWith(':'));
    const parameters = Object.fromEntries(names.map((name) => [name.slice(1), 'a /%?#é']));
    const match = matchPath(pathOf(page, parameters));
    t.equal(match?.route.page, page);
    t.same(match?.parameters, parameters);
  }
  t.throws(() => pathOf('vm', { project: 'demo' }), /vm needs vm/);
});
