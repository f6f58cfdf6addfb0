/**
 * A fleet's mapping and placements: the project of a domain, the effects of a move and a migration,
 * and the errors of a wrong mapping. Domains are recorded; time is virtual.
 */
import { type Test, test } from 'tap';
import { Fleet, type FleetSink } from '../../../actors/telemetry/collectors/fleet/fleet.ts';
import {
  parseMapping,
  placeOf,
  UnusableMapping,
} from '../../../actors/telemetry/collectors/fleet/mapping.ts';
import type { PlacementsState } from '../../../actors/telemetry/collectors/fleet/placements.ts';
import { elementText } from '../../../actors/telemetry/collectors/libvirt/domain-metadata.ts';
import { VirtualClock } from '../../../streams/platform/clock.ts';
import { seededRandom } from '../../../streams/platform/random.ts';
import { originOf } from '../../../streams/telemetry/samples/boot.ts';
import { START_MS } from '../../support/host-in-memory.ts';
import {
  fleetDomain,
  type Language,
  type Libvirts,
  virshOf,
} from '../../support/recorded-fleet.ts';

const A = 'qemu+ssh://monitor@host-a/system';
const B = 'qemu+tls://host-b/system';
const INTERVAL_MS = 30_000;

function problemsOf(text: string): readonly string[] {
  try {
    parseMapping(text);
    return [];
  } catch (error) {
    if (error instanceof UnusableMapping) return error.problems;
    throw error;
  }
}

test('SRC-12: a domain belongs to the project of the first matching rule', async (t) => {
  const [one, two] = [fleetDomain(1), fleetDomain(2)];
  const mapping = parseMapping(`
    # two hosts
    source ${A}
    source ${B}   # in the other room
    uuid ${one.uuid.toUpperCase()} project shop
    metadata urn:svc:project gold-* project premium
    metadata urn:svc:project
    name "vm 2*" project blog
    name web-?? project shop
    name *.example project blog
  `);
  t.same(mapping.sources, [A, B]);
  t.same(mapping.namespaces, ['urn:svc:project']);
  const place = (uuid: string, name: string, text: string | null | 'unread' = null) =>
    placeOf(mapping, { uuid, name, metadata: () => (text === 'unread' ? undefined : text) });
  const projects = [
    place(one.uuid, 'vm 2', 'other'),
    place(two.uuid, 'vm 2x'),
    place(two.uuid, 'vm 2', 'gold-7'),
    place(two.uuid, 'vm 2', 'acme'),
    place(two.uuid, 'web-01'),
    place(two.uuid, 'xexample'),
    place(two.uuid, 'x.example'),
    place(two.uuid, 'web-1'),
    place(two.uuid, 'vm 2', 'not a project'),
    place(two.uuid, 'vm 2', 'unread'),
  ].map((found) => (found.kind === 'project' ? `${found.project}:${found.line}` : found.kind));
  t.same(projects, [
    'shop:5',
    'blog:8',
    'premium:6',
    'acme:7',
    'shop:9',
    'unmatched',
    'blog:10',
    'unmatched',
    'unmatched',
    'unknown',
  ]);
  t.equal(elementText('<svc:project xmlns:svc="urn:x"> a&amp;b </svc:project>'), 'a&b');
  t.equal(elementText('<a><b>acme</b></a>'), '', 'an element with children names no project');
});

test('SRC-12: an invalid mapping is rejected with the line of each mistake', (t) => {
  const { uuid } = fleetDomain(1);
  t.same(
    problemsOf(`source host-a
source qemu+ssh://me@host-a/system
source qemu+ssh://you@host-a/system
uuid 12 project shop
uuid ${uuid} project shop
uuid ${uuid} project blog
name web-* shop
name web-* project no/project
names x project y
metadata urn:a b c d
name * project rest
name late project shop`),
    [
      'line 1: "host-a" is not a libvirt URI such as qemu:///system or qemu+ssh://user@host/system',
      'line 3: qemu+ssh://[redacted]@host-a/system is already on line 2',
      'line 4: "12" is not a UUID',
      `line 6: ${uuid} is already on line 5`,
      'line 7: must have the form "name PATTERN project ID"',
      'line 8: "no/project" is not a project: use its ID, such as shop',
      'line 9: "names" is not a statement: use source, uuid, name or metadata',
      'line 10: must have the form "metadata NAMESPACE" or "metadata NAMESPACE PATTERN project ID"',
      'line 12: is never reached: line 11 matches every domain',
    ],
  );
  t.same(problemsOf('# nothing'), [
    'there is no source: "source qemu:///system"',
    'there is no rule: "name shop-* project shop"',
  ]);
  t.end();
});

/** A running fleet over recorded libvirts, and the rows that reached its sink. */
function open(
  t: Test,
  text: string,
  libvirts: Libvirts,
  state?: PlacementsState,
  language?: Language,
) {
  const clock = new VirtualClock(START_MS);
  /** `project vm source state`, as written. */
  const written: string[] = [];
  const boots = new Map<string, string>();
  const retired: string[] = [];
  const states: PlacementsState[] = [];
  const gate = { isOpen: true, refused: '', isStateWritable: true };
  const sink: FleetSink = {
    write(project, rows, source) {
      if (!gate.isOpen) throw new Error('The disk is full');
      if (project === gate.refused) throw new Error('over its rate');
      for (const { displayName, state, bootId } of rows) {
        boots.set(displayName, bootId);
        written.push(`${project} ${displayName} ${source.includes('host-a') ? 'A' : 'B'} ${state}`);
      }
    },
    async retire(project, vms) {
      if (!gate.isOpen) throw new Error('nobody answers');
      for (const vm of vms) retired.push(`${project} ${vm}`);
      return true;
    },
  };
  const fleet = new Fleet({
    clock,
    sink,
    intervalMs: INTERVAL_MS,
    random: seededRandom(3),
    mapping: parseMapping(text),
    run: virshOf(libvirts, language),
    onFault: () => {},
    onState: (next) => {
      if (!gate.isStateWritable) throw new Error('no space left');
      states.push(next);
    },
    ...(state && { state }),
  });
  t.teardown(() => fleet.stop());
  const settle = async () => {
    for (let i = 0; i < 30; i++) await new Promise((resolve) => setImmediate(resolve));
  };
  /** Rows written in the rounds of one interval. */
  const round = async (): Promise<string[]> => {
    await settle();
    written.length = 0;
    await clock.advance(INTERVAL_MS);
    await settle();
    return [...written].sort();
  };
  return { fleet, written, boots, retired, states, round, settle, gate, libvirts };
}

const sources = `source ${A}\nsource ${B}\n`;
const [web, db, old] = [fleetDomain(1, 'web'), fleetDomain(2, 'db'), fleetDomain(3, 'old')];

test('SRC-21: the boot id of a domain names its host', async (t) => {
  const world = open(t, `${sources}name * project shop`, { [A]: [web], [B]: [] });
  await world.settle();
  const before = world.boots.get('web') ?? '';
  world.libvirts[A] = [];
  world.libvirts[B] = [web];
  for (let i = 0; i < 5; i++) await world.round();
  const after = world.boots.get('web') ?? '';
  t.equal(before.split(' ')[0], after.split(' ')[0], 'it has the same number in libvirt');
  t.not(originOf(before), originOf(after));
  t.not(originOf(before), '');
});

test('SRC-12: rows go to their project; unmatched domains are listed but not sent', async (t) => {
  const text = `${sources}metadata urn:svc:project\nname w* project shop`;
  const world = open(t, text, { [A]: [web, old], [B]: [{ ...db, project: 'blog' }] });
  await world.settle();
  t.same(world.written.sort(), ['blog db B RUNNING', 'shop web A RUNNING']);
  t.same(world.fleet.status().unmatched, [
    { vm: old.uuid, name: 'old', source: 'libvirt qemu+ssh://[redacted]@host-a/system' },
  ]);
  t.same(world.fleet.status().projects, { shop: 1, blog: 1 });
  await world.fleet.take(parseMapping(`${text}\nname old project blog`));
  t.same(await world.round(), ['blog db B RUNNING', 'blog old A RUNNING', 'shop web A RUNNING']);
  t.same(world.fleet.status().unmatched, []);
  await world.fleet.take(parseMapping(text));
  await world.round();
  world.libvirts[A] = [web, { ...old, isUnread: true }];
  await world.round();
  t.equal(world.fleet.status().unmatched.length, 1, 'it was not read in this round');
  delete world.libvirts[A];
  await world.round();
  t.equal(world.fleet.status().unmatched.length, 1, 'a silent host proves nothing about it');
  world.libvirts[A] = [web];
  await world.round();
  await world.round();
  t.same(world.fleet.status().unmatched, [], 'it no longer exists');
  t.same(world.retired, []);
});

test('SRC-13: a moved domain is retired in its old project as soon as possible', async (t) => {
  const text = `${sources}metadata urn:svc:project\nname * project shop`;
  const world = open(t, text, { [A]: [web, db], [B]: [] });
  await world.settle();
  t.same(world.written.sort(), ['shop db A RUNNING', 'shop web A RUNNING']);
  world.gate.isOpen = false;
  world.libvirts[A] = [web, { ...db, project: 'blog' }];
  t.same(await world.round(), []);
  t.match(world.fleet.status(), { retiring: 1, retireFault: /left shop .*nobody answers/ });
  t.same(world.states.at(-1), {
    placed: {
      [web.uuid]: ['shop', 'libvirt qemu+ssh://[redacted]@host-a/system'],
      [db.uuid]: ['blog', 'libvirt qemu+ssh://[redacted]@host-a/system'],
    },
    retiring: { shop: [db.uuid] },
  });
  world.gate.isOpen = true;
  world.libvirts[A] = [web, db];
  await world.fleet.take(parseMapping(`${sources}name db project third\nname * project shop`));
  const rows = await world.round();
  // Rows of the previous round waited, for the project in which they were observed.
  t.same(rows, [
    'blog db A RUNNING',
    'shop web A RUNNING',
    'shop web A RUNNING',
    'third db A RUNNING',
  ]);
  await world.settle();
  t.same(world.retired.sort(), [`blog ${db.uuid}`, `shop ${db.uuid}`]);
  t.equal(world.fleet.status().retiring, 0);
});

test('SRC-13: a move while the collector was down is detected after its start', async (t) => {
  const placed = { [web.uuid]: ['blog', `libvirt qemu+ssh://[redacted]@host-a/system`] as const };
  const world = open(
    t,
    `${sources}name * project shop`,
    { [A]: [web], [B]: [] },
    {
      placed,
      retiring: { third: [db.uuid] },
    },
  );
  await world.settle();
  t.same(world.written, ['shop web A RUNNING']);
  t.same(world.retired.sort(), [`blog ${web.uuid}`, `third ${db.uuid}`].sort());
});

test('SRC-14: a migrated VM is reported by its current host without a gap', async (t) => {
  const world = open(t, `${sources}name * project shop`, { [A]: [web, db], [B]: [old] });
  await world.settle();
  // Both hosts list it while its memory is copied. Then the old host keeps its definition.
  world.libvirts[B] = [old, web];
  t.same(await world.round(), ['shop db A RUNNING', 'shop old B RUNNING', 'shop web A RUNNING']);
  world.libvirts[A] = [db, { ...web, isOn: false }];
  const during = await world.round();
  t.notOk(
    during.some((row) => /web . STOPPED/.test(row)),
    during.join(),
  );
  t.ok((await world.round()).includes('shop web B RUNNING'));
  world.libvirts[A] = [db];
  for (let i = 0; i < 4; i++) t.ok((await world.round()).includes('shop web B RUNNING'));
  t.same(world.retired, [], 'it still exists');
  // Its old host undefines this one at once.
  world.libvirts[A] = [];
  world.libvirts[B] = [old, web, db];
  await world.round();
  t.ok((await world.round()).includes('shop db B RUNNING'));
});

test('SRC-14: a VM that no host lists is retired, but a silent host retires none', async (t) => {
  const world = open(t, `${sources}name * project shop`, { [A]: [web, old], [B]: [db] });
  await world.settle();
  delete world.libvirts[B];
  for (let i = 0; i < 5; i++) await world.round();
  t.same(world.retired, []);
  t.equal(world.fleet.status().sources[1]?.faults[0]?.reason, 'SOURCE_FAILED');
  world.libvirts[A] = [web];
  for (let i = 0; i < 4; i++) await world.round();
  t.same(world.retired, [`shop ${old.uuid}`]);
  await world.fleet.take(parseMapping(`source ${A}\nname * project shop`));
  t.equal(world.fleet.status().sources.length, 1, 'a source that was removed is not read');
});

test('SRC-12: a domain with unreadable metadata waits, and no broader rule matches it', async (t) => {
  const text = `${sources}metadata urn:svc:project\nname * project shop`;
  const world = open(t, text, { [A]: [{ ...web, project: null }, db, old], [B]: [] });
  await world.settle();
  t.same(world.written, [], 'virsh failed: a missing element is unknown, too');
  t.match(world.fleet.status().sources[0]?.faults, [
    { reason: 'INCOMPLETE', message: /metadata of some domains .*End of file/ },
  ]);
  world.libvirts[A] = [{ ...web, project: 'blog' }, db, old];
  t.same(await world.round(), ['blog web A RUNNING', 'shop db A RUNNING', 'shop old A RUNNING']);
  world.libvirts[A] = [{ ...web, project: null }, db, old];
  t.same(
    await world.round(),
    ['blog web A RUNNING', 'shop db A RUNNING', 'shop old A RUNNING'],
    'it is unchanged',
  );
});

for (const language of ['en', 'de'] as const) {
  test(`SRC-12: a libvirtd in "${language}" is read alike`, async (t) => {
    const text = `${sources}metadata urn:svc:project\nname * project shop`;
    const blog = { ...db, project: 'blog' };
    const world = open(t, text, { [A]: [web, blog], [B]: [old] }, undefined, language);
    await world.settle();
    t.same(world.written.sort(), ['blog db A RUNNING', 'shop old B RUNNING', 'shop web A RUNNING']);
    t.same(world.fleet.status().unmatched, []);
    t.same(
      world.fleet.status().sources.flatMap(({ faults }) => faults),
      [],
    );
    world.libvirts[A] = [web, { ...blog, project: null }];
    t.ok((await world.round()).includes('blog db A RUNNING'), 'its last text stays');
  });

  test(`SRC-12: no broader rule matches the only domain, unreadable in "${language}"`, async (t) => {
    const text = `${sources}metadata urn:svc:project\nname * project shop`;
    const only = { [A]: [{ ...web, project: null }], [B]: [] };
    const world = open(t, text, only, undefined, language);
    await world.settle();
    // Its error is the same for an element that cannot exist.
    t.same(world.written, []);
    t.match(world.fleet.status().sources[0]?.faults, [{ reason: 'INCOMPLETE' }]);
    world.libvirts[A] = [web];
    t.same(await world.round(), ['shop web A RUNNING']);
  });
}

test('SRC-13: a domain that returns before its retirement stays', async (t) => {
  const world = open(t, `${sources}name * project shop`, { [A]: [web, db], [B]: [] });
  await world.settle();
  world.gate.isOpen = false;
  await world.fleet.take(parseMapping(`${sources}name web project blog\nname * project shop`));
  await world.round();
  await world.fleet.take(parseMapping(`${sources}name * project shop`));
  await world.round();
  world.gate.isOpen = true;
  await world.round();
  await world.settle();
  t.same(world.retired, [`blog ${web.uuid}`]);
});

test('SRC-14: a definition left behind by a migration is not a stopped VM', async (t) => {
  const behind = { ...web, isOn: false, isMigrated: true } as const;
  const world = open(t, `${sources}name * project shop`, { [A]: [web, db], [B]: [] });
  await world.settle();
  world.libvirts[A] = [behind, db];
  t.same(await world.round(), ['shop db A RUNNING']);
  world.libvirts[B] = [web];
  t.same(
    await world.round(),
    ['shop db A RUNNING', 'shop web B RUNNING'],
    'the next round includes it',
  );
  const fresh = open(t, `${sources}name * project shop`, { [A]: [behind, db], [B]: [] });
  await fresh.settle();
  t.same(fresh.written, ['shop db A RUNNING'], 'nor after a restart');
});

test('a refused project delays no other, and its rows wait for it', async (t) => {
  const text = `source ${A}\nname web project shop\nname db project blog`;
  const world = open(t, text, { [A]: [web, db] });
  const source = () => world.fleet.status().sources[0];
  await world.settle();
  world.gate.refused = 'shop';
  for (let i = 0; i < 4; i++) {
    t.same(await world.round(), ['blog db A RUNNING'], 'once per round, and without delay');
  }
  t.match(source(), {
    waitingRows: 4,
    faults: [{ reason: 'SINK_FAILED', project: 'shop', times: 4, message: /over its rate/ }],
  });
  world.gate.refused = '';
  const shop = Array.from({ length: 5 }, () => 'shop web A RUNNING');
  t.same(await world.round(), ['blog db A RUNNING', ...shop], 'no row is lost');
  t.match(source(), { waitingRows: 0, droppedRows: 0, faults: [] });

  world.gate.refused = 'shop';
  for (let i = 0; i < 23; i++) t.same(await world.round(), ['blog db A RUNNING']);
  t.match(source(), { waitingRows: 20, droppedRows: 3 });
  world.gate.refused = '';
  t.equal((await world.round()).length, 1 + 20, 'the newest twenty were kept');
});

test('placements that could not be written are written later, and delay no rows', async (t) => {
  const world = open(t, `${sources}name * project shop`, { [A]: [web], [B]: [] });
  await world.settle();
  t.equal(world.states.length, 1);
  world.gate.isStateWritable = false;
  world.libvirts[A] = [web, db];
  const rows = ['shop db A RUNNING', 'shop web A RUNNING'];
  t.same(await world.round(), rows);
  t.same(await world.round(), rows);
  t.match(world.fleet.status().sources[0]?.faults, [
    { reason: 'STATE_NOT_STORED', times: 2, message: /no space left/ },
  ]);
  world.gate.isStateWritable = true;
  t.same(await world.round(), rows);
  t.same(Object.keys(world.states.at(-1)?.placed ?? {}).sort(), [web.uuid, db.uuid].sort());
  t.equal(world.states.length, 2);
  t.same(world.fleet.status().sources[0]?.faults, []);
  await world.round();
  t.equal(world.states.length, 2, 'once');
});
