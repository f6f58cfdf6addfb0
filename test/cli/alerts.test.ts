/**
 * `svc alerts` against the whole service: rules from flags and documents, an edit of an existing
 * rule, and a saved rule that is polled until it is applied. Also the files that `svc record`
 * creates.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'tap';
import { joinCliWorld, joinDemoWorld, writeReadings } from '../support/cli-against-service.ts';
import { startGateway } from '../support/faulty-gateway.ts';
import { until } from '../support/program.ts';

const VM = 'projects/alerts/vms/vm-1';

test('svc alerts', async (t) => {
  const world = await joinDemoWorld(t, 'alerts');
  const at = Math.floor(Date.now() / 1000) - 60;
  await writeReadings(world, [{ at, memory: 1.5420543861, index: 0 }]);
  const env = { SVC_API_KEY: world.demo.apiKey, SVC_PROJECT: 'alerts' };
  const svc = (...args: string[]) => world.svc(args, { as: 'nobody', env });
  const condition = ['--metric', 'memory_used_bytes', '--operator', 'GREATER_THAN', '--threshold'];
  const save = ['alerts', 'save', '--name', 'Memory', ...condition, '5', '--severity', 'WARNING'];
  let id = '';

  await t.test('a rule is created from flags and applied when the command ends', async (t) => {
    const ran = await svc(...save, '--for', '1m', '--vm', 'vm-1', '--label', 'team=core');
    t.equal(ran.code, 0, ran.stderr);
    id =
      /^rule +Memory \(projects\/alerts\/alertRules\/([0-9a-f-]+)\)$/m.exec(ran.stdout)?.[1] ?? '';
    t.match(ran.stdout, /^notifies +none: shown in lists only; add --destination$/m);
    t.notMatch(ran.stdout, /^state/m);
    t.match(ran.stdout, /^applied +APPLIED \(version 1\)$/m);
    t.match(ran.stderr, new RegExp(`^Saving rule ${id} \\(request \\S+, on version 0\\)$`, 'm'));
    const list = await svc('alerts', 'list');
    t.match(
      list.stdout,
      new RegExp(`^Memory +memory_used_bytes > 5 for 60 s +WARNING +1 +APPLIED +1 +${id}$`, 'm'),
    );
  });

  await t.test('an edit keeps other fields and does not undo a concurrent edit', async (t) => {
    const edited = await svc('alerts', 'save', '--id', id, '--threshold', '0', '--pause');
    t.match(edited.stdout, /^version +2\nstate +paused: not evaluated, no notifications$/m);
    t.match(edited.stdout, /^note +its firing incidents are retired without a recovery$/m);
    const again = await svc('alerts', 'save', '--id', id, '--threshold', '0');
    t.notMatch(again.stdout, /incidents are retired/, 'the rule was already paused');
    const [rule] = (await svc('alerts', 'list', '--json')).json.rules;
    t.match(rule.spec, {
      displayName: 'Memory',
      threshold: 0,
      enabled: false,
      sustainedSeconds: 60,
      vmNames: [VM],
      labels: { team: 'core' },
      severity: 'WARNING',
    });
    const stale = await svc(
      'alerts',
      'save',
      '--id',
      id,
      '--threshold',
      '1',
      '--expected-version',
      '1',
    );
    t.match(stale, { code: 1, stderr: /STALE_VERSION[\s\S]*currentVersion: 3/ });
  });

  await t.test('a paused rule is listed as paused, with its whole condition', async (t) => {
    const listed = await world.svc(['alerts', 'list'], { as: 'nobody', env, columns: 80 });
    t.ok(listed.stdout.includes('\u001b[33mPAUSED\u001b[0m'), 'and not in green');
    t.notMatch(listed.stdout, /APPLIED/);
    const longest = ['--name', 'Memory of the second data center', '--metric', 'memory_used_bytes'];
    const rule = [...longest, '--operator', '>', '--threshold', '123456789012', '--for', '10m'];
    const made = await svc(
      'alerts',
      'save',
      ...rule,
      '--severity',
      'CRITICAL',
      '--all-vms',
      '--json',
    );
    const narrow = await world.svc(['alerts', 'list'], { as: 'nobody', env, columns: 80 });
    t.match(narrow.stdout, /memory_used_bytes >.*\n +123456789012 for 600 s/, 'on two lines');
    await svc('alerts', 'delete', made.json.name);
  });

  await t.test(
    'a rule that names a deleted destination is paused, without that destination',
    async (t) => {
      const hook = ['--kind', 'webhook', '--url', 'https://example.com/hook'];
      await svc('destinations', 'create', ...hook, '--name', 'Pager');
      const rule = [...condition, '5', '--severity', 'INFO', '--all-vms', '--destination', 'Pager'];
      const ids: string[] = [];
      for (const name of ['CPU on call', 'Disk on call']) {
        const { json } = await svc('alerts', 'save', '--name', name, ...rule, '--json');
        ids.push(json.name.split('/').pop());
      }
      const deleted = await svc('destinations', 'delete', 'Pager');
      t.match(deleted, {
        code: 0,
        stdout: /^Deleted /,
        stderr: '2 rules name it and no longer notify it: CPU on call, Disk on call\n',
      });
      const paused = await svc('alerts', 'save', '--id', 'CPU on call', '--pause');
      t.match(paused, { code: 0, stdout: /^state +paused/m }, paused.stderr);
      const stripped = await svc('alerts', 'save', '--id', 'Disk on call', '--destination', '');
      t.match(stripped, { code: 0, stdout: /^notifies +none/m }, stripped.stderr);
      const { rules } = (await svc('alerts', 'list', '--json')).json;
      const named = (id: string | undefined) =>
        rules.find(({ name }: { name: string }) => name.endsWith(id ?? '?')).spec.destinationNames;
      t.same([named(ids[0]).length, named(ids[1])], [1, []]);
      for (const each of ids) await svc('alerts', 'delete', each);
    },
  );

  await t.test('an instance is shown with its recorded or recomputed path', async (t) => {
    const low = ['alerts', 'save', '--name', 'Low', ...condition, '0', '--severity', 'INFO'];
    const made = await svc(...low, '--for', '1h', '--all-vms', '--json');
    const rule = made.json.name.split('/').pop();
    const known = async () => (await svc('alerts', 'instances', '--rule', rule)).stdout;
    const displayed = /^Low +One +SUSTAINING .* never fired/m;
    await until('it sustains', async () => displayed.test(await known()) || undefined);
    t.match(await known(), / OBSERVED +1\.54205 /, 'rounded for people');
    const of = ['--rule', rule, '--vm', 'vm-1'];
    const kept = await svc('alerts', 'instance', ...of);
    t.match(kept.stdout, /breachStarted +idle +sustaining.observed +EVALUATOR/, kept.stderr);
    const again = await svc('alerts', 'instance', ...of, '--since', String(at - 60));
    t.match(again.stdout, /breachStarted +idle +sustaining.observed +RECOMPUTED/, again.stderr);
    t.match(await svc('alerts', 'instance', ...of.slice(2)), {
      code: 2,
      stderr: /--rule and --vm/,
    });
    await svc('alerts', 'delete', rule, '--expected-version', '1');
  });

  await t.test('a rule is deleted at the version that was read', async (t) => {
    const made = await svc(...save, '--all-vms', '--json');
    const name = made.json.name.split('/').pop();
    t.match(await svc('alerts', 'delete', name, '--expected-version', '7'), {
      code: 1,
      stderr: /STALE_VERSION/,
    });
    const ran = await svc('alerts', 'delete', name);
    t.match(ran, { code: 0, stdout: `Deleted ${made.json.name}\n` }, ran.stderr);
    t.match(await svc('alerts', 'delete', name), { code: 4, stderr: /NOT_FOUND/ });
  });

  await t.test('a rule is created from a document, and a misspelt field is an error', async (t) => {
    const file = join(world.folder, 'rule.json');
    const spec = { displayName: 'File', metricId: 'memory_used_bytes', operator: 'LESS_THAN' };
    const rest = { threshold: 1, severity: 'INFO', allVms: true };
    writeFileSync(file, JSON.stringify({ ...spec, ...rest }));
    t.match(await svc('alerts', 'save', '--file', file, '--json'), { code: 0 });
    writeFileSync(file, JSON.stringify({ ...spec, ...rest, thresold: 5 }));
    t.match(await svc('alerts', 'save', '--file', file), { code: 2, stderr: /thresold/ });
    t.match(await svc('alerts', 'save', '--file', `${file}.none`), {
      code: 2,
      stderr: /could not be read/,
    });
    const contradiction = await svc(...save, '--all-vms', '--vm', 'vm-1');
    t.match(contradiction, { code: 2, stderr: /cannot be combined/ });
  });

  await t.test('a rule is created from a template, with overriding flags', async (t) => {
    const listed = await svc('alerts', 'templates');
    t.match(listed.stdout, /^cpu +CPU is high +cpu_utilization_pct > 90 for 600 s$/m);
    t.match(listed.stdout, /^filesystem-usage: .* A missing reading is not 0% full\.$/m);
    const { templates } = (await svc('alerts', 'templates', '--json')).json;
    t.equal(templates.length, 5);
    const made = ['alerts', 'save', '--template', 'cpu', '--threshold', '70', '--vm', 'vm-1'];
    t.match(await svc(...made), { code: 0 });
    const { rules } = (await svc('alerts', 'list', '--json')).json;
    const spec = { ...templates[0].spec, threshold: 70, allVms: false, vmNames: [VM] };
    t.same(rules.at(-1).spec, spec);
    const wrong = ['alerts', 'save', '--template', 'disk', '--vm', 'vm-1'];
    t.match(await svc(...wrong), { code: 2, stderr: /one of cpu, guest-memory/ });
    t.match(await svc(...made, '--id', id), { code: 2, stderr: /--template starts a new rule/ });
  });

  await t.test('the exit code distinguishes saved from applied', async (t) => {
    const gateway = await startGateway(t, world.endpoint);
    const headers = { 'content-type': 'application/json' };
    const pending = {
      syncStatus: 'PENDING',
      name: `projects/alerts/alertRules/${id}`,
      version: '3',
    };
    const answer = { kind: 'answer', status: 200, headers, body: JSON.stringify(pending) } as const;
    gateway.faults.push({ ...answer, path: 'SaveAlertRule' });
    const args = [...save, '--all-vms', '--endpoint', gateway.url, '--wait', '0'];
    t.match(await svc(...args), {
      code: 1,
      stdout: /^note +saved, but this version is not evaluated yet$/m,
    });
    const rules = [{ ...pending, appliedVersion: '2' }];
    gateway.faults.push({ ...answer, path: 'ListAlertRules', body: JSON.stringify({ rules }) });
    const list = await svc('alerts', 'list', '--endpoint', gateway.url);
    t.match(list.stdout, /^.* PENDING \(3 saved, 2 applied\) +3 /m, list.stderr);
  });

  await t.test('incidents are listed, and an empty list has a message', async (t) => {
    const ran = await svc('incidents', 'list', '--state', 'FIRING', '--vm', 'vm-1', '--rule', id);
    t.match(ran, { code: 0, stdout: 'No matching incidents\n' });
    t.match((await svc('incidents', 'list', '--json')).json, { incidents: [] });
  });

  await t.test('a rejection names the flag that is missing or invalid', async (t) => {
    const rule = ['alerts', 'save', ...condition, '5', '--all-vms'];
    const lines: [string[], RegExp][] = [
      [[...rule, '--name', 'x'], /\n {2}Set --severity to INFO, WARNING or CRITICAL\n/],
      [[...rule, '--severity', 'INFO'], /\n {2}Set --name\n/],
      [[...rule, '--severity', 'INFO', '--name', 'x'.repeat(500)], /\n {2}Check --name\n/],
      [
        [...rule.slice(0, -1), '--severity', 'INFO', '--name', 'x'],
        /\n {2}Set --all-vms, or --vm NAME\n/,
      ],
    ];
    for (const [args, hint] of lines) {
      t.match(await svc(...args), { code: 1, stderr: hint }, args.join(' ').slice(0, 200));
    }
    const misspelt = ['--metric', 'memory_usd_bytes', '--operator', '>', '--threshold', '1'];
    const metric = await svc('alerts', 'save', '--name', 'x', '--severity', 'INFO', ...misspelt);
    t.match(metric, { code: 1, stderr: /\n {2}Did you mean "memory_used_bytes"\?\n/ });
    const query = await svc('monitoring', 'query', 'vm-1', '--metric', 'cpu_utilisation_pct');
    t.match(query, { code: 1, stderr: /\n {2}Did you mean "cpu_utilization_pct"\?\n/ });
  });

  await t.test('a preview prints the simulated firings and saves nothing', async (t) => {
    const before = (await svc('alerts', 'list', '--json')).json;
    const preview = ['alerts', 'preview', '--severity', 'INFO', '--all-vms'];
    const fires = await svc(...preview, ...condition, '0', '--history', '1h');
    t.match(fires, {
      code: 0,
      stdout:
        /^query +OK\nhistory +PARTIAL\nsamples +1 evaluated of \d expected\n\nVM .*\nOne .* still$/m,
    });
    t.match(await svc(...preview), {
      code: 2,
      stderr: /Start a rule with --template, --file, or --metric/,
    });
    const quiet = await svc(...preview, ...condition, '5', '--json');
    t.match(quiet.json, { queryStatus: 'OK', evaluatedSamples: '1', wouldHaveFired: [] });
    const never = ['--metric', 'load_1m', '--operator', 'LESS_THAN', '--threshold', '9'];
    t.match(await svc(...preview, ...never), { code: 0, stdout: /^Nothing was observed/m });
    const seen = await svc(...preview, ...condition, '0', '--instances', '--trace', 'vm-1');
    t.match(seen.stdout, /^One +1 +FIRING +observed$/m);
    t.match(seen.stdout, /^Trace of One\nfrom .*\n(.*\n)*.* FIRING +OBSERVED +sustained$/m);
    const unseen = await svc(...preview, ...never, '--trace', 'vm-1', '--trace-label', 'a=b');
    t.match(unseen.stdout, /^no data +One$/m);
    t.match(unseen.stdout, /^Trace of One\n(.*\n)*.* IDLE +MISSING/m);
    t.match(await svc(...preview, ...condition, '0', '--trace-label', 'a=b'), {
      code: 2,
      stderr: /--trace-label requires --trace/,
    });
    const refused = await svc(...preview, ...condition, '5', '--history', '8d');
    t.match(refused, { code: 1, stderr: /INVALID_FIELD: historySeconds is 691200/ });
    t.same((await svc('alerts', 'list', '--json')).json, before);
  });

  await t.test('a replay prints the simulated notifications and saves nothing', async (t) => {
    const url = 'https://example.com/hook';
    const kind = ['--kind', 'webhook', '--url', url, '--name', 'Hook'];
    const created = await svc('destinations', 'create', ...kind, '--json');
    const { name } = created.json.destination;
    const before = (await svc('alerts', 'list', '--json')).json;
    const rule = ['--severity', 'INFO', '--all-vms', '--destination', name];
    const replay = ['alerts', 'replay', ...rule, ...condition];
    const fires = await svc(...replay, '0', '--history', '1h', '--only', 'vm-1', '--bodies');
    t.match(fires, { code: 0, stdout: /^estimate +destinations accept at once/ });
    t.match(fires.stdout, /^VMs +1\nsamples +1 observed of \d expected$/m);
    t.match(fires.stdout, /FIRING +One +Hook +- +SENT$/m);
    t.match(fires.stdout, /^\{"type":"incident.firing".*"vmName":"projects\/alerts\/vms\/vm-1"/m);
    const { json } = await svc(...replay, '5', '--json');
    t.match(json, { notifications: [], truncated: false, observedSamples: '1' });
    t.match(await svc(...replay, '5'), { stdout: /^Nothing would have been sent$/m });
    t.match(await svc(...replay, '5', '--history', '2d'), {
      code: 1,
      stderr: /INVALID_FIELD: historySeconds is 172800/,
    });
    t.same((await svc('alerts', 'list', '--json')).json, before);
  });

  await t.test('an incomplete preview is reported as incomplete', async (t) => {
    const gateway = await startGateway(t, world.endpoint);
    const preview = ['alerts', 'preview', ...condition, '5', '--severity', 'INFO', '--all-vms'];
    const args = [...preview, '--history', '2h', '--endpoint', gateway.url];
    const body = {
      queryStatus: 'PARTIAL',
      historyStatus: 'COMPLETE',
      evaluatedSamples: '90',
      expectedSamples: '120',
      truncated: true,
      wouldHaveFired: [{ vmName: VM, labels: {}, startUnix: '1767225600', endUnix: '1767225900' }],
    };
    const headers = { 'content-type': 'application/json' };
    const answer = { kind: 'answer', status: 200, headers, path: 'PreviewAlertRule' } as const;
    gateway.faults.push({ ...answer, body: JSON.stringify(body) });
    const ran = await svc(...args);
    t.match(ran, {
      code: 0,
      stdout: /^query +PARTIAL\nhistory +COMPLETE\nsamples +90 evaluated of 120/,
    });
    t.match(ran.stdout, /^note +the list below is incomplete$/m);
    t.match(ran.stdout, /^vm-1 +20\d\d-\S+ +20\d\d-/m);
    t.match(JSON.parse(gateway.requests.at(-1)?.body ?? ''), {
      projectName: 'projects/alerts',
      historySeconds: 7_200,
      spec: { metricId: 'memory_used_bytes', threshold: 5, allVms: true },
    });
    gateway.faults.push({ ...answer, body: '{"queryStatus":"FAILED"}' });
    const failed = await svc(...args);
    t.match(failed, { code: 1, stdout: /^query +FAILED\nhistory +unknown$/m });
  });

  await t.test('a threshold may have a unit of its metric, and is shown with it', async (t) => {
    const typed = async (text: string) =>
      await svc('alerts', 'save', '--id', id, '--threshold', text);
    const saved = await typed('2GiB');
    t.equal(saved.code, 0, saved.stderr);
    t.match((await svc('alerts', 'list')).stdout, /memory_used_bytes > 2 GiB for 60 s/);
    t.match((await svc('alerts', 'list', '--json')).json.rules, [{ spec: { threshold: 2 ** 31 } }]);
    const other = await typed('90 %');
    t.match(other, {
      code: 2,
      stderr: /--threshold 90 % is in percent, but memory_used_bytes is in bytes/,
    });
    t.match(await typed('2 gigs'), { code: 2, stderr: /a number with a unit such as 2GiB/ });
    t.equal((await typed('5')).code, 0);
  });
});

test('svc record never overwrites a recording, and removes an empty one', async (t) => {
  const world = await joinCliWorld(t, 'recording');
  const file = join(world.folder, 'taken.recording');
  const record = (data: string) =>
    world.svc(['record', file, '--for', '1s', '--data', data], { as: 'nobody' });
  t.match(await record(join(world.folder, 'nowhere')), { stderr: /No service is running on/ });
  t.notOk(existsSync(file), 'the same command can be run again');
  writeFileSync(file, 'kept');
  t.match(await record(world.folder), { code: 2, stderr: /already exists.*Use another name/ });
  t.equal(readFileSync(file, 'utf8'), 'kept');
});
