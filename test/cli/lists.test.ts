/**
 * Formatting of lists: on a terminal within its width, with relative times and colours; in a pipe
 * in full. Against the whole service, with realistic long names.
 */
import { test } from 'tap';
import {
  type Cell,
  listing,
  long,
  minor,
  moment,
  sentences,
  stateCell,
} from '../../src/cli/client/listing.ts';
import { joinDemoWorld, writeReadings } from '../support/cli-against-service.ts';
import { until } from '../support/program.ts';
import { startReceiver } from '../support/receiver.ts';

const LISTS = [
  'alerts list',
  'alerts instances',
  'alerts templates',
  'incidents list',
  'deliveries list',
  'deliveries list --failed',
  'destinations list',
  'notices',
  'maintenance list',
  'limits',
  'monitoring vms',
  'members list',
  'members list --invitations',
  'projects list',
  'keys list',
  'credentials',
  'service-accounts list',
  'service-accounts templates',
  'trusts list',
  'trusts list --verifications',
  'sessions list',
  'incidents show One',
];

// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern searches for colours
const COLOUR = /\u001b\[\d+m/g;
const DATE = /\d{4}-\d\d-\d\dT/;

test('lists against the service', async (t) => {
  const receiver = await startReceiver(t);
  const world = await joinDemoWorld(t, 'lists');
  const login = await world.svc(['login', '--link', '-'], { input: world.demo.signInUrl ?? '' });
  t.equal(login.code, 0, login.stderr);
  const env = { SVC_PROJECT: 'lists' };
  const svc = (...args: string[]) => world.svc(args, { env });
  const text = 'of the second data center in the north, for those who are on call';
  await writeReadings(world, [{ at: Math.floor(Date.now() / 1000) - 30, memory: 9, index: 0 }]);
  receiver.answer(500);
  const hook = ['--kind', 'webhook', '--url', receiver.url, '--name', `Pager ${text}`];
  await svc('destinations', 'create', ...hook);
  const rule = ['--name', `Memory ${text}`, '--metric', 'memory_used_bytes', '--operator', '>'];
  const more = ['--threshold', '5', '--severity', 'CRITICAL', '--all-vms'];
  const to = ['--destination', `Pager ${text}`];
  t.equal((await svc('alerts', 'save', ...rule, ...more, ...to)).code, 0);
  const account = ['--name', `Deploy ${text}`, '--template', 'alert-manager'];
  await svc('service-accounts', 'create', ...account);
  const capability = ['--capability', 'monitoring.read,monitoring.write'];
  await svc('keys', 'create', '--name', `Laptop ${text}`, ...capability);
  await svc('members', 'invite', `${'long.name.'.repeat(4)}x@lists.test`, '--role', 'EDITOR');
  const verify = ['--service-account', `Deploy ${text}`, '--name', `Workflow ${text}`];
  await svc('trusts', 'verify', ...verify, ...capability);
  await svc('maintenance', 'plan', '--vm', 'One', '--for', '1h', '--from', '23:59', '--note', text);
  await until('an attempt failed', async () => {
    const { stdout } = await svc('deliveries', 'list', '--failed');
    return stdout.includes('500') || undefined;
  });

  await t.test(
    'API-41: each list fits 80 columns of a terminal, with relative times',
    async (t) => {
      for (const list of LISTS) {
        const ran = await world.svc(list.split(' '), { env, columns: 80 });
        t.equal(ran.code, 0, `${list}: ${ran.stderr}`);
        const plain = ran.stdout.replaceAll(COLOUR, '');
        const table = list.startsWith('incidents show') ? (plain.split('\n\n')[1] ?? '') : plain;
        const sentences = list === 'alerts templates';
        for (const line of table
          .split(sentences ? '\n\n' : '\n')
          .slice(0, sentences ? 1 : undefined)) {
          for (const row of line.split('\n')) t.ok(row.length <= 80, `${list}: ${row}`);
        }
        t.notMatch(table, DATE, list);
      }
    },
  );

  await t.test('the last four characters of a key are shown', async (t) => {
    const keys = await world.svc(['keys', 'list'], { env, columns: 80 });
    t.match(keys.stdout.replaceAll(COLOUR, ''), /^Laptop .* …\S{4} /m);
  });

  await t.test(
    'API-41: names are first, and states have colours unless NO_COLOR is set',
    async (t) => {
      const onTerminal = await world.svc(['incidents', 'list'], { env, columns: 80 });
      t.ok(onTerminal.stdout.includes('\u001b[31mFIRING\u001b[0m'));
      t.match(
        onTerminal.stdout.replaceAll(COLOUR, ''),
        /^Memory of \S.*… +One +FIRING +CRITICAL +\d+[sm] ago/m,
      );
      const displayedId = /inc_\w+/.exec(onTerminal.stdout)?.[0] ?? '';
      t.equal(displayedId.length, 12);
      const byBeginning = await svc('incidents', 'show', displayedId);
      t.match(
        byBeginning.stdout,
        new RegExp(`^incident +\\S+/${displayedId}\\w+$`, 'm'),
        byBeginning.stderr,
      );
      const noColour = await world.svc(['incidents', 'list'], {
        columns: 80,
        env: { ...env, NO_COLOR: '1' },
      });
      t.notMatch(noColour.stdout, '\u001b');
      const dumb = await world.svc(['incidents', 'list'], {
        columns: 80,
        env: { ...env, TERM: 'dumb' },
      });
      t.notMatch(dumb.stdout, '\u001b');
    },
  );

  await t.test(
    'ids of people, rules, VMs and accounts appear only in their own lists',
    async (t) => {
      const { rules } = JSON.parse((await svc('alerts', 'list', '--json')).stdout);
      const { serviceAccounts } = JSON.parse(
        (await svc('service-accounts', 'list', '--json')).stdout,
      );
      const account = serviceAccounts.find(({ displayName }: Named) =>
        displayName.startsWith('Dep'),
      );
      const own = new Map([
        ['people/', 'none of them'],
        [lastPart(rules[0].name), 'alerts list'],
        ['vm-1', 'monitoring vms'],
        [lastPart(account.name), 'service-accounts list'],
      ]);
      for (const list of LISTS.slice(0, -1)) {
        const { stdout } = await svc(...list.split(' '));
        for (const [id, home] of own) {
          t.equal(stdout.includes(id), list === home, `${id} in ${list}:\n${stdout}`);
        }
      }
    },
  );

  await t.test(
    'API-41: a pipe gets every column in full, with dates and without colour',
    async (t) => {
      const { stdout } = await svc('destinations', 'list');
      t.match(
        stdout,
        new RegExp(`^Pager ${text} +webhook .* \\d{4}-\\S+T\\S+ .* dst_\\w{26}$`, 'm'),
      );
      t.notMatch(stdout, '\u001b');
    },
  );
});

interface Named {
  readonly displayName: string;
}

function lastPart(name: string): string {
  return name.slice(name.lastIndexOf('/') + 1);
}

test('API-41: times are relative, and minor columns are dropped in order', async (t) => {
  const now = 1_800_000_000;
  const screen = { columns: 60, hasColour: false, nowMs: now * 1000 };
  const displayed = (cell: Cell) => listing(screen, ['x'], [[cell]], '').split('\n')[1];
  t.equal(displayed(moment(now - 59)), '59s ago');
  t.equal(displayed(moment(now - 60)), '1m ago');
  t.equal(displayed(moment(BigInt(now + 7_200))), 'in 2h');
  t.equal(displayed(moment(now - 59 * 86_400)), '59d ago');
  t.match(displayed(moment(now - 100 * 86_400)), /^\d{4}-\d\d-\d\d$/);
  t.equal(displayed(moment(undefined, 'never')), 'never');
  const columns = [long('name'), 'state', minor('by'), minor('id'), 'empty'];
  const rows = [['n'.repeat(50), stateCell('FIRING'), 'somebody', 'i'.repeat(26), '']];
  const [head = '', row = ''] = listing(screen, columns, rows, '').split('\n');
  t.match(
    head,
    /^name +state +by$/,
    'the last minor column is dropped first, and an empty one always',
  );
  t.match(row, /^n+… +FIRING +somebody$/);
  t.ok(row.length <= 60);
  t.equal(listing(screen, columns, [], 'None'), 'None\n');
  const texts = ['word '.repeat(30).trim()];
  const wrapped = listing(screen, ['at', sentences('what')], [['now', ...texts]], '').split('\n');
  t.match(wrapped.slice(1, -1), [/^now {2}word/, /^ {5}word/, /^ {5}word/], 'sentences wrap');
  t.ok(wrapped.every(({ length }) => length <= 60));
  t.equal(wrapped.join(' ').match(/word/g)?.length, 30);
});
