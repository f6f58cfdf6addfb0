/** Which lane runs which test file: cores are kept busy, and spare lanes take what an idle machine allows. */
import t from 'tap';
import { lanesOf } from '../../scripts/test-turns.ts';

const files = ['a', 'b', 'c', 'd', 'e'];

t.test('each file is given out once, in order, whichever lane asks', async (t) => {
  const lanes = lanesOf(files, { cores: 2, idleShare: async () => 1 });
  const given: (string | undefined)[] = [];
  for (let index = 0; given.at(-1) !== undefined || index === 0; index++) {
    given.push(await lanes[index % lanes.length]?.());
  }
  t.same(given, [...files, undefined]);
  for (const nextFile of lanes) t.equal(await nextFile(), undefined);
});

t.test(
  'a spare lane waits while the machine is busy, one lane for each core does not',
  async (t) => {
    const measured = [0.1, 0.2, 0.3, 0.05];
    let measurements = 0;
    const idleShare = async () => measured[measurements++] ?? 0;
    const [own, spare, other] = lanesOf(files, { cores: 1, idleShare });
    const first = spare?.();
    const second = other?.();
    t.equal(await own?.(), 'a');
    t.equal(await first, 'b');
    t.ok(measurements >= 3, 'it looked until a part was idle');
    for (const file of ['c', 'd', 'e']) t.equal(await own?.(), file);
    t.equal(await second, undefined, 'it waits no longer when no file is left');
  },
);
