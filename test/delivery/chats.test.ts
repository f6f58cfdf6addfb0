/**
 * Chats: allowed URLs, rendering for any name (limits hold, no part of a name is markup), and the
 * outcome of each answer. One scripted server on loopback replaces all services.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import fc from 'fast-check';
import { type Test, test } from 'tap';
import { decodeChatBody, encodeChatBody } from '../../src/delivery/notify/chat/chat-kind.ts';
import { discordService, escapeDiscord } from '../../src/delivery/notify/discord/discord.ts';
import { AddressGuard } from '../../src/delivery/notify/http/address-guard.ts';
import { createHttpExchange, requestTarget } from '../../src/delivery/notify/http/exchange.ts';
import { notificationKinds, refuseUrl } from '../../src/delivery/notify/kinds.ts';
import { escapeSlack, slackService } from '../../src/delivery/notify/slack/slack.ts';
import { TEAMS_BYTES_MAX, teamsService } from '../../src/delivery/notify/teams/teams.ts';
import { oneLine } from '../../streams/alerting/wording.ts';
import { systemClock } from '../../streams/platform/clock.ts';
import { messageNamed, names, RUNBOOK_URL } from '../support/messages.ts';
import { tries } from '../support/tries.ts';

const SERVICES = { slack: slackService, teams: teamsService, discord: discordService };
type ChatKind = keyof typeof SERVICES;

const SLACK = 'https://hooks.slack.com/services/T0/B0/abcdefghijklmnop';
const TEAMS =
  'https://prod-00.westus.logic.azure.com:443/workflows/0f/triggers/manual/paths/invoke?api-version=2016-06-01&sp=%2Ftriggers%2Fmanual%2Frun&sig=a_b-c%2Bd';
const DISCORD = 'https://discord.com/api/webhooks/1/aB-c_d';

test('HOOK-18: a chat destination accepts only URLs of its own service', async (t) => {
  const guard = new AddressGuard({ hosts: ['127.0.0.0/8', 'chat.lab'], http: true });
  const taken: readonly (readonly [ChatKind, string])[] = [
    ['slack', SLACK],
    ['teams', TEAMS],
    ['teams', 'https://a1.0b.environment.api.powerplatform.com/powerautomate/x?sig=1'],
    ['discord', DISCORD],
    ['discord', `${DISCORD}?thread_id=1`],
    ['discord', 'https://discord.com/api/v10/webhooks/1/x'],
    ...['discordapp.com', 'ptb.discord.com', 'canary.discord.com', 'canary.discordapp.com'].map(
      (host) => ['discord', `https://${host}/api/webhooks/1/x`] as const,
    ),
    ['slack', 'https://hooks.slack-gov.com/services/T000/B000/XXXXXXXX'],
    ...[
      'prod-05.usgovtexas.logic.azure.us:443',
      'prod-01.chinaeast2.logic.azure.cn',
      'default1.2.environment.api.gov.powerplatform.microsoft.us',
      'default1.2.environment.api.high.powerplatform.microsoft.us',
      'default1.2.environment.api.appsplatform.us',
      'default1.2.environment.api.powerplatform.partner.microsoftonline.cn',
    ].map((host) => ['teams', `https://${host}/workflows/abc/triggers/manual?sig=x`] as const),
    ['slack', 'http://127.0.0.1:9090/any'],
    ['teams', 'https://chat.lab/any'],
  ];
  const refused: readonly (readonly [ChatKind, string, RegExp])[] = [
    ['slack', 'https://hooks.slack.com.evil.example/services/T/B/x', /Slack URL/],
    ['slack', 'https://evil.example/hooks.slack.com/services/', /Slack URL/],
    ['slack', 'https://chat.example/services/T/B/x', /operator can allow .* SVC_WEBHOOK_ALLOW/],
    ['teams', 'https://chat.example/x', /operator can allow .* SVC_WEBHOOK_ALLOW/],
    ['discord', 'https://evildiscord.com/api/webhooks/1/x', /SVC_WEBHOOK_ALLOW/],
    ['teams', 'https://api.gov.powerplatform.microsoft.us/x', /Teams URL/],
    ['slack', 'https://hooks.slack.com:8443/services/T/B/x', /Slack URL/],
    ['slack', 'https://hooks.slack.com/triggers/T/1/x', /Slack URL/],
    ['slack', 'http://hooks.slack.com/services/T/B/x', /https/],
    ['slack', 'https://a:b@hooks.slack.com/services/T/B/x', /user or password/],
    ['slack', 'https://evil.example\\@hooks.slack.com/services/T/B/x', /ASCII|Slack URL/],
    ['slack', DISCORD, /Slack URL/],
    ['teams', 'https://logic.azure.com/x', /Teams URL/],
    ['teams', 'https://evillogic.azure.com/x', /Teams URL/],
    ['teams', 'https://acme.webhook.office.com/webhookb2/x', /retired/],
    ['discord', `${DISCORD}/slack`, /Discord URL/],
    ['discord', 'https://discord.com/api/webhooks/../../x/y', /Discord URL/],
    ['discord', 'https://discord.com.evil.example/api/webhooks/1/x', /Discord URL/],
    ['discord', 'https://discord.com/api/webhooks/1/x y', /printable/],
    ['discord', 'https://discord.com/api/webhooks/1/ü', /ASCII/],
    ['discord', `${DISCORD}${'x'.repeat(2_048)}`, /at most 2048/],
    ['discord', 'nonsense', /not a URL/],
    ['discord', 'https://10.0.0.1/api/webhooks/1/x', /not a public address/],
  ];
  for (const [kind, url] of taken) t.equal(refuseUrl(kind, url, guard), undefined, url);
  for (const [kind, url, why] of refused) t.match(refuseUrl(kind, url, guard), why, url);
});

test('HOOK-20: a URL is sent byte for byte as pasted', async (t) => {
  t.equal(requestTarget(TEAMS), TEAMS.slice(TEAMS.indexOf('/workflows')));
  t.equal(requestTarget('https://h.example/a/%2e%2E/./b?q={x}#part'), '/a/%2e%2E/./b?q={x}');
  t.equal(requestTarget('https://h.example?x=1'), '/?x=1');
  t.equal(requestTarget('https://h.example'), '/');
  t.equal(requestTarget('https://h.example\\@x/ü'), '/@x/%C3%BC', 'other URLs are parsed');
  t.equal(discordService.callUrl?.(DISCORD), `${DISCORD}?wait=true`);
  t.equal(discordService.callUrl?.(`${DISCORD}?thread_id=1#x`), `${DISCORD}?thread_id=1&wait=true`);
  t.equal(discordService.callUrl?.(`${DISCORD}?wait=true`), `${DISCORD}?wait=true`);
});

/** Every text in a document, at any depth. */
function textsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsOf) : [];
}

interface Form {
  readonly document: string;
  readonly body: Record<string, unknown>;
}

/** Both forms of a message for each of many names. */
function forAllNames(kind: ChatKind, check: (form: Form, isShort: boolean, name: string) => void) {
  const property = fc.property(names, (name) => {
    const { full, short } = SERVICES[kind].render(messageNamed(name));
    for (const document of [full, short]) {
      if (!document.isWellFormed()) throw new Error('A text is not well formed');
      if (!document.includes(RUNBOOK_URL)) throw new Error('The runbook has no link');
      check({ document, body: JSON.parse(document) }, document === short, name);
    }
    if (short.length > full.length) throw new Error('The short form is the longer one');
  });
  fc.assert(property, { numRuns: tries(200) });
}

function insist(condition: boolean, sentence: string): void {
  if (!condition) throw new Error(sentence);
}

test('HOOK-19: Slack messages keep the size limits with any names, and names are never markup', async (t) => {
  t.doesNotThrow(() =>
    forAllNames('slack', ({ document, body }) => {
      insist(document.length < 8_000, `${document.length} characters`);
      const blocks = body.blocks as { type: string; text?: { type: string; text: string } }[];
      insist(blocks.length <= 50, `${blocks.length} blocks`);
      for (const { type, text } of blocks) {
        if (type === 'header') insist((text?.text.length ?? 0) <= 150, 'the header is too long');
        if (type === 'section') insist((text?.text.length ?? 0) <= 3_000, 'a section is too long');
        insist(text === undefined || text.type === 'plain_text', `${type} has formatting`);
      }
      const link = '<https://svc.example.com/projects/acme/incidents/inc_1|Open the incident>';
      const links = [link, `<${RUNBOOK_URL}|Open the runbook>`];
      for (const text of textsOf(body).filter((each) => !links.includes(each))) {
        insist(!/[<>]|&(?!(?:amp|lt|gt);)/.test(text), `unescaped: ${text}`);
      }
    }),
  );
  t.equal(escapeSlack('<!channel> & <@U1>'), '&lt;!channel&gt; &amp; &lt;@U1&gt;');
});

test('HOOK-20: Teams messages keep the size limits with any names, and names are never markup', async (t) => {
  t.doesNotThrow(() =>
    forAllNames('teams', ({ document, body }) => {
      insist(
        Buffer.byteLength(document) <= TEAMS_BYTES_MAX,
        `${Buffer.byteLength(document)} bytes`,
      );
      const [attachment, second] = body.attachments as {
        content: { version: string; body: [] };
      }[];
      insist(second === undefined && attachment?.content.version === '1.2', 'one card of 1.2');
      const blocks = (attachment?.content.body ?? []) as TeamsBlock[];
      for (const { type, inlines } of blocks) {
        insist(type === 'RichTextBlock', `${type} is Markdown`);
        for (const { type, text } of inlines) {
          insist(type === 'TextRun' && text !== '', 'a run is empty, or not a run');
          insist(!/\{\{(?:DATE|TIME)\(/i.test(text), `replaced by a client: ${text}`);
        }
      }
    }),
  );
});

interface TeamsBlock {
  readonly type: string;
  readonly inlines: readonly { readonly type: string; readonly text: string }[];
}

/** The lines of a card as every client displays them. */
function teamsLines(document: string): string[] {
  const { attachments } = JSON.parse(document) as {
    readonly attachments: readonly { readonly content: { readonly body: readonly TeamsBlock[] } }[];
  };
  const blocks = attachments.flatMap(({ content }) => content.body);
  return blocks.map(({ inlines }) => inlines.map(({ text }) => text).join(''));
}

test('HOOK-20: Teams displays every text as it was written', async (t) => {
  const name = '1. *x* [a](http://b) <at>z</at> & \\ {{DATE(2026-01-01T00:00:00Z,SHORT)}} - c: d';
  const lines = teamsLines(SERVICES.teams.render(messageNamed(name)).full);
  t.ok(lines.includes(`VM: ${name}`), lines.join('\n'));
  t.ok(lines.includes(`Firing: ${name} on ${name}`));
});

interface Embed {
  readonly title: string;
  readonly description?: string;
  readonly fields?: readonly { readonly name: string; readonly value: string }[];
}

test('HOOK-21: Discord messages keep the size limits with any names, and names are never markup', async (t) => {
  t.doesNotThrow(() =>
    forAllNames('discord', ({ body }) => {
      insist(JSON.stringify(body.allowed_mentions) === '{"parse":[]}', 'it may mention');
      const [embed, second] = body.embeds as Embed[];
      if (!embed || second) throw new Error('There is not exactly one embed');
      const { title, description = '', fields = [] } = embed;
      insist(title.length >= 1 && title.length <= 256, 'the title is too long');
      insist(description.length <= 4_096, 'the description is too long');
      insist(fields.length <= 25, 'too many fields');
      for (const { name, value } of fields) {
        insist(name.length >= 1 && name.length <= 256, 'a name is too long, or empty');
        insist(value.length >= 1 && value.length <= 1_024, 'a value is too long, or empty');
      }
      const texts = [title, description, ...fields.flatMap(({ name, value }) => [name, value])];
      insist(texts.join('').length <= 6_000, 'the embed is too long');
      for (const text of texts) {
        const ours = text.replace(`<${RUNBOOK_URL}>`, '');
        const unescaped = ours.replaceAll(/\\[!-/:-@[-`{-~]/g, '');
        insist(!/[!-/:-@[-`{-~]/.test(unescaped), `unescaped: ${text}`);
      }
    }),
  );
  t.equal(escapeDiscord('**@everyone**'), '\\*\\*\\@everyone\\*\\*');
});

test('HOOK-22: a long name is cut between code points, and the omitted ones are counted', async (t) => {
  for (const kind of ['slack', 'teams', 'discord'] as const) {
    const { full } = SERVICES[kind].render(messageNamed('𝒳'.repeat(1_000)));
    const texts = textsOf(JSON.parse(full)).map((text) => text.replaceAll('\\', ''));
    t.ok(
      texts.some((text) => /𝒳… \(\d+ more characters\)/u.test(text)),
      kind,
    );
    const match = texts
      .map((text) => /^(?:VM: )?(𝒳+)… \((\d+) more characters\)$/mu.exec(text))
      .find((found) => found);
    t.equal(
      [...(match?.[1] ?? '')].length + Number(match?.[2]),
      1_000,
      `${kind}: no character is lost`,
    );
  }
});

test('users read the name unchanged', async (t) => {
  const name = 'web-1 <prod> *x* [a](b) & "c"';
  const slack = textsOf(JSON.parse(SERVICES.slack.render(messageNamed(name)).full)).join('\n');
  const decoded = slack.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&');
  t.ok(decoded.includes(`VM: ${name}`));
  t.ok(teamsLines(SERVICES.teams.render(messageNamed(name)).full).includes(`VM: ${name}`));
  const discord = textsOf(JSON.parse(SERVICES.discord.render(messageNamed(name)).full));
  t.ok(discord.map(unescaped).includes(name));
  t.equal(oneLine('a\r\nb\u202ec'), 'a b c');
});

function unescaped(text: string): string {
  return text.replaceAll(/\\([!-/:-@[-`{-~])/g, '$1');
}

/** Every line that a reader of the service sees, unescaped. */
function linesIn(kind: ChatKind, document: string): string[] {
  if (kind === 'teams') return teamsLines(document);
  const decode = (text: string) =>
    text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&');
  const texts = textsOf(JSON.parse(document)).flatMap((text) => text.split('\n'));
  return texts.map(kind === 'slack' ? decode : unescaped);
}

test('HOOK-22: joiners in Persian, Indic scripts and emoji are kept', async (t) => {
  for (const name of ['می\u200cخواهم', '👩\u200d💻 Zürich', 'ക്\u200dഷ', '❤\ufe0f']) {
    t.equal(oneLine(name), name);
    for (const kind of ['slack', 'teams', 'discord'] as const) {
      const lines = linesIn(kind, SERVICES[kind].render(messageNamed(name)).full);
      t.ok(
        lines.some((line) => line.includes(name)),
        `${kind}: ${name}`,
      );
    }
  }
  t.equal(oneLine('\u200d\u200c\ufe0f'), '', 'a name of joiners alone has no visible text');
});

test('HOOK-22: a runbook keeps its line breaks', async (t) => {
  const text = 'Line one\nLine two: do *this*\n\n- item <1>';
  for (const kind of ['slack', 'teams', 'discord'] as const) {
    const message = messageNamed('web-1', { runbook: { text, url: '' } });
    const lines = linesIn(kind, SERVICES[kind].render(message).full);
    const at = lines.findIndex((line) => line.endsWith('Line one'));
    const shown = lines.slice(at + 1, at + 4).filter((line) => line !== '');
    t.same(shown.slice(0, 2), ['Line two: do *this*', '- item <1>'], kind);
  }
});

test('HOOK-28: a group lists as many incidents as fit into a message of the service', async (t) => {
  const members = Array.from({ length: 200 }, (_, i) => {
    return { name: `web-${i}.example.com`, value: '93.5 %, since 2026-01-01 00:00:00 UTC' };
  });
  const least = { slack: 70, teams: 70, discord: 40 };
  for (const kind of ['slack', 'teams', 'discord'] as const) {
    const { full } = SERVICES[kind].render(messageNamed('CPU', { members }));
    const lines = linesIn(kind, full);
    const listed = lines.filter((line) => /^web-\d+\.example\.com: 93\.5 %/.test(line)).length;
    t.ok(listed >= least[kind], `${kind} lists ${listed}`);
    t.ok(
      lines.some((line) => line.includes(`${200 - listed} more`)),
      `${kind} states the number of the others`,
    );
    if (kind === 'teams') t.ok(Buffer.byteLength(full) <= TEAMS_BYTES_MAX);
    if (kind === 'slack') t.ok(full.length < 8_000, `${full.length} characters`);
    if (kind === 'discord') {
      const [{ title, description, fields }] = JSON.parse(full).embeds;
      t.ok(description.length <= 4_096);
      t.ok(textsOf([title, description, fields]).join('').length <= 6_000);
    }
    const few = members.slice(0, 3);
    const short = linesIn(kind, SERVICES[kind].render(messageNamed('CPU', { members: few })).full);
    t.notMatch(short.join('\n'), /\d more/, kind);
  }
});

test('HOOK-21: a link that Discord rejects is sent as text', async (t) => {
  const hosts = ['http://monitor:8080', 'http://[::1]:8080', 'https://localhost'];
  for (const origin of hosts) {
    const { full, short } = SERVICES.discord.render(
      messageNamed('web-1', { url: `${origin}/i/1` }),
    );
    for (const document of [full, short]) {
      t.equal(JSON.parse(document).embeds[0].url, undefined, origin);
    }
    t.ok(JSON.parse(full).embeds[0].description.includes(`<${origin}/i/1>`), origin);
  }
  for (const url of ['https://svc.example.com/i/1', 'http://10.0.0.7:8080/i/1']) {
    const { full } = SERVICES.discord.render(messageNamed('web-1', { url }));
    t.equal(JSON.parse(full).embeds[0].url, url);
  }
});

test('HOOK-22: the plainest form is only text, within the limits', async (t) => {
  const property = fc.property(names, (name) => {
    for (const kind of ['slack', 'teams', 'discord'] as const) {
      const { plain } = SERVICES[kind].render(messageNamed(name));
      const document = JSON.parse(plain);
      insist(plain.isWellFormed(), 'a text is not well formed');
      insist(plain.includes('https://svc.example.com/projects/acme/incidents/inc_1'), 'no link');
      insist(!('blocks' in document || 'embeds' in document), `${kind} has more than text`);
      if (kind === 'discord') insist(document.content.length <= 2_000, 'the content is too long');
      if (kind === 'slack') insist(plain.length < 8_000, 'too long');
      if (kind === 'teams') insist(!plain.includes('Action.OpenUrl'), 'it has an action');
    }
  });
  t.doesNotThrow(() => fc.assert(property, { numRuns: tries(200) }));
});

interface Scripted {
  readonly status: number;
  readonly text?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A server that records its requests and sends the scripted answers in order. */
async function startService(t: Test) {
  const got: { path: string; body: string; headers: NodeJS.Dict<string | string[]> }[] = [];
  const answers: Scripted[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { url = '', headers } = request;
      got.push({ path: url, body: Buffer.concat(chunks).toString(), headers });
      const { status, text = '', headers: more = {} } = answers.shift() ?? { status: 500 };
      response.writeHead(status, more).end(text);
    });
  });
  const guard = new AddressGuard({ hosts: ['127.0.0.1'], http: true });
  const exchange = createHttpExchange({ guard, clock: systemClock });
  const senders = new Map(
    Object.entries(notificationKinds).map(([name, kind]) => [name, kind.open({ exchange, guard })]),
  );
  t.teardown(async () => {
    await exchange.close();
    server.close();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    got,
    async send(kind: ChatKind, script: readonly Scripted[], path = '/services/T/B/x') {
      got.length = 0;
      answers.splice(0, answers.length, ...script);
      return senders.get(kind)?.attempt({
        deliveryId: 'dlv_1',
        attemptId: 'att_1',
        incident: 'inc_1',
        timestampUnix: 0,
        body: encodeChatBody(SERVICES[kind].render(messageNamed('web-1'))),
        event: 'incident.firing',
        target: { kind, url: `http://127.0.0.1:${port}${path}` },
        deadlineElapsedMs: systemClock.elapsed() + 5_000,
      });
    },
  };
}

test('HOOK-18: each answer of a chat service has the outcome that the service intends', async (t) => {
  const { send } = await startService(t);
  const ok = { kind: 'accepted' };
  const retry = { kind: 'failed', unknown: false };
  const final = { kind: 'refused', pauseDestination: false, content: true };
  const pauses = { kind: 'refused', pauseDestination: true };
  const cases: readonly (readonly [ChatKind, Scripted, object])[] = [
    ['slack', { status: 200, text: 'ok' }, ok],
    ['slack', { status: 200, text: '<html>captive portal</html>' }, retry],
    [
      'slack',
      { status: 429, headers: { 'retry-after': '3' } },
      { ...retry, slows: true, retryAfterMs: 3_000 },
    ],
    ['slack', { status: 500, text: 'rollup_error' }, retry],
    ['slack', { status: 503 }, { ...retry, slows: true }],
    [
      'slack',
      { status: 302, headers: { location: '/' } },
      { ...retry, error: /Enter the final URL/ },
    ],
    ['slack', { status: 400, text: 'invalid_payload' }, { ...final, excerpt: 'invalid_payload' }],
    ['slack', { status: 403, text: 'invalid_token' }, pauses],
    ['slack', { status: 404, text: 'no_service' }, pauses],
    ['slack', { status: 410, text: 'channel_is_archived' }, pauses],
    ['teams', { status: 202 }, ok],
    [
      'teams',
      { status: 429, headers: { 'retry-after': '10' } },
      { ...retry, slows: true, retryAfterMs: 10_000 },
    ],
    ['teams', { status: 502 }, { ...retry, slows: true }],
    ['teams', { status: 400, text: '{"error":{"code":"TriggerInputSchemaMismatch"}}' }, final],
    ['teams', { status: 401 }, pauses],
    ['teams', { status: 404 }, pauses],
    ['discord', { status: 200, text: '{"id":"1"}' }, ok],
    [
      'discord',
      { status: 429, text: '{"retry_after":0.65,"global":false}' },
      { ...retry, slows: true, retryAfterMs: 650 },
    ],
    [
      'discord',
      { status: 429, text: '{"retry_after":0.65}', headers: { 'retry-after': '2' } },
      { ...retry, retryAfterMs: 2_000 },
    ],
    [
      'discord',
      { status: 429, text: '<html>', headers: { 'retry-after': '5' } },
      { ...retry, retryAfterMs: 5_000 },
    ],
    [
      'discord',
      { status: 429, text: '{"retry_after":64}' },
      { ...retry, slows: true, retryAfterMs: 64_000 },
    ],
    ['discord', { status: 429, text: 'null' }, { ...retry, slows: true }],
    [
      'discord',
      { status: 429, text: '{"retry_after":9000,"global":true}' },
      { ...retry, retryAfterMs: 9_000_000, isGlobalLimit: true },
    ],
    ['discord', { status: 400, text: '{"code":50006}' }, final],
    ['discord', { status: 401 }, pauses],
    ['discord', { status: 403 }, pauses],
    ['discord', { status: 404, text: '{"code":10015}' }, pauses],
    ['discord', { status: 408 }, retry],
    ['discord', { status: 500 }, retry],
  ];
  for (const [kind, answer, outcome] of cases) {
    t.match(
      await send(kind, [answer]),
      outcome,
      `${kind} answers ${answer.status} ${answer.text ?? ''}`,
    );
  }
});

test('HOOK-22: a message rejected for its size is sent shorter once, then abandoned', async (t) => {
  const { got, send } = await startService(t);
  const tooLarge = {
    slack: { status: 400, text: 'msg_too_long' },
    teams: { status: 413, text: '' },
    discord: { status: 400, text: '{"code":50035,"errors":{"x":"BASE_TYPE_MAX_LENGTH"}}' },
  };
  for (const kind of ['slack', 'teams', 'discord'] as const) {
    const { full, short } = SERVICES[kind].render(messageNamed('web-1'));
    const ok = { status: kind === 'teams' ? 202 : 200, text: 'ok' };
    const refusedFull = {
      kind: 'failed',
      unknown: false,
      error: /next attempt sends a short form/,
    };
    const sent: (string | undefined)[] = [];
    const attempt = async (answer: Scripted, outcome: object) => {
      t.match(await send(kind, [answer]), outcome, kind);
      t.equal(got.length, 1, 'one message per attempt: a service grants one per second');
      sent.push(got[0]?.body);
    };
    await attempt(tooLarge[kind], refusedFull);
    await attempt({ status: 503 }, { kind: 'failed' });
    await attempt(ok, { kind: 'accepted' });
    t.same(sent, [full, short, short], kind);
    await attempt(tooLarge[kind], refusedFull);
    await attempt(tooLarge[kind], { kind: 'refused', pauseDestination: false, error: /size/ });
  }
});

test('the request is the stored body, sent to the pasted path, and an answer is stored without that path', async (t) => {
  const { got, send } = await startService(t);
  const secret = 'aB3_secret-token-of-the-channel';
  const outcome = await send(
    'discord',
    [{ status: 500, text: `POST /api/webhooks/1/${secret}?wait=true failed, token=hunter2000` }],
    `/api/webhooks/1/${secret}`,
  );
  t.match(outcome, { kind: 'failed', excerpt: 'POST [redacted] failed, token=[redacted]' });
  const [request] = got;
  t.equal(request?.path, `/api/webhooks/1/${secret}?wait=true`);
  const headers = { 'content-type': 'application/json', 'accept-encoding': 'identity' };
  t.match(request?.headers, headers);
  t.equal(request?.body, SERVICES.discord.render(messageNamed('web-1')).full);
  t.throws(() => decodeChatBody(Buffer.from('{"full":"{}"}')), /one of its two forms/);
});
