/**
 * Mail notifications: the mail itself (subject, text, HTML, drawing), and sending it to a real mail
 * server on 127.0.0.1 with every way of accepting or rejecting it.
 */
import { crc32, inflateSync } from 'node:zlib';
import fc from 'fast-check';
import { test } from 'tap';
import type { AttemptOutcome, MailTarget, Target } from '../../actors/delivery/notifier-port.ts';
import type { DeliveryContext } from '../../machines/delivery/delivery.ts';
import type { BodyStore } from '../../sqlite/platform/secrets/secret-store.ts';
import { createContents } from '../../src/delivery/notify/contents.ts';
import {
  chartInWords,
  drawChart,
  gapsOf,
  pictureOf,
} from '../../src/delivery/notify/email/chart.ts';
import {
  createEmailSender,
  type OurFault,
  openEmail,
} from '../../src/delivery/notify/email/email.ts';
import { encodeLetter, renderLetter } from '../../src/delivery/notify/email/letter.ts';
import { renderers } from '../../src/delivery/notify/kinds.ts';
import { createLog } from '../../src/platform/log.ts';
import { createMailer } from '../../src/platform/mail/mailer.ts';
import { createMetrics } from '../../src/platform/metrics.ts';
import { systemClock, VirtualClock } from '../../streams/platform/clock.ts';
import { type MailServer, startMailServer, type TakenMail } from '../support/mail-server.ts';
import { messageNamed, names, windowOf } from '../support/messages.ts';
import { type MimePart, parseMail } from '../support/mime.ts';
import { caller, startRecipientsWorld } from '../support/recipients-with-mail-server.ts';
import { sealedIn } from '../support/sealed-in-memory.ts';
import { Browser } from '../support/sign-in-server.ts';
import { tries } from '../support/tries.ts';

const unsubscribeUrl = `https://svc.example.com/v1/recipients/unsubscribe?code=${'k'.repeat(90)}`;
const body = encodeLetter(
  renderLetter(messageNamed('Größe <b>web</b> "1" = 100 % & more\r\nBcc: eve@example.com')),
);

interface Sending {
  readonly deliveryId?: string;
  readonly attemptId?: string;
  readonly incident?: string;
  readonly bytes?: Uint8Array;
  readonly deadlineMs?: number;
  readonly target?: Target;
}

const ours: OurFault[] = [];

/** One attempt by a sender of its own. */
async function send(
  { url }: Pick<MailServer, 'url'>,
  sending: Sending = {},
): Promise<AttemptOutcome> {
  const { deliveryId = 'dlv_1', attemptId = 'att_1', incident = 'inc_1', bytes = body } = sending;
  const sender = createEmailSender({
    mailer: createMailer({ url, from: 'Monitoring <svc@example.com>', isUnpooled: true }),
    clock: systemClock,
    host: () => 'svc.example.com',
    onOurFault: (fault) => void ours.push(fault),
  });
  try {
    return await sender.attempt({
      deliveryId,
      attemptId,
      incident,
      body: bytes,
      event: 'incident.firing',
      target: email(sending.target),
      timestampUnix: 1_767_225_600,
      deadlineElapsedMs: systemClock.elapsed() + (sending.deadlineMs ?? 5_000),
    });
  } finally {
    await sender.close();
  }
}

/** An empty store. */
const noBodies: BodyStore = {
  putMissing: async () => [],
  get: () => undefined,
  ids: () => [],
  delete: async () => {},
};

function email(target?: Target): MailTarget {
  return target && 'address' in target
    ? target
    : { kind: 'email', address: 'ada@example.com', unsubscribeUrl };
}

function only(mails: readonly TakenMail[]): MimePart {
  const [mail, second] = mails;
  if (!mail || second) throw new Error(`${mails.length} mails were accepted instead of one`);
  return parseMail(mail.source);
}

test('HOOK-23: all parts of a mail have the content of the rendered message', async (t) => {
  const server = await startMailServer(t);
  t.same(await send(server), { kind: 'accepted' });
  const mail = only(server.mails);
  t.same(server.mails[0]?.to, ['ada@example.com'], 'one recipient');
  const { headers } = mail;
  t.equal(headers.get('to'), 'ada@example.com');
  t.equal(headers.get('message-id'), '<dlv_1@svc.example.com>');
  t.equal(headers.get('in-reply-to'), '<inc_1@svc.example.com>');
  t.equal(headers.get('references'), '<inc_1@svc.example.com>');
  t.equal(headers.get('auto-submitted'), 'auto-generated');
  t.equal(headers.get('list-unsubscribe'), `<${unsubscribeUrl}>`);
  t.equal(headers.get('list-unsubscribe-post'), 'List-Unsubscribe=One-Click');
  t.notOk(headers.has('bcc'), 'a name does not start a header');
  t.match(headers.get('subject'), /^Firing: Größe <b>web<\/b> "1" = 100 % & more Bcc: eve/);
  t.same(mail.types(), [
    'multipart/alternative',
    'text/plain',
    'multipart/related',
    'text/html',
    'image/png',
  ]);
  const text = mail.find('text/plain')?.text() ?? '';
  t.match(text, /^VM: +Größe <b>web<\/b> "1" = 100 % & more Bcc/m);
  t.match(text, /^Observed then: +no reading$/m, 'an absent reading is not zero');
  t.match(
    text,
    /3 observations from 2026-01-01 00:00:00 UTC to 2026-01-01 00:01:00 UTC: lowest 91 %, highest 95 %, threshold 90 %\./,
  );
  t.ok(text.includes(unsubscribeUrl));
  const html = mail.find('text/html')?.text() ?? '';
  t.match(html, /Größe &lt;b&gt;web&lt;\/b&gt; &quot;1&quot; = 100 % &amp; more/);
  t.match(html, /<img src="cid:chart" width="560" height="140" alt="3 observations/);
  t.ok(html.includes(`<a href="${unsubscribeUrl}">`));
  const picture = mail.find('image/png');
  t.equal(picture?.headers.get('content-id'), '<chart>');
  t.same(
    picture?.bytes(),
    Buffer.from(drawChart({ window: windowOf([91, 95, 93.5]), threshold: 90, unit: 'percent' })),
  );
  t.notOk(
    Buffer.from(body).includes('unsubscribe'),
    'the stored form has no link of the recipient',
  );
});

test('HOOK-25: attempts of a delivery are one message, deliveries of an incident one thread', async (t) => {
  const server = await startMailServer(t);
  await send(server, { attemptId: 'att_1' });
  await send(server, { attemptId: 'att_2' });
  await send(server, { deliveryId: 'dlv_2' });
  await send(server, {
    deliveryId: 'dlv_3',
    incident: '',
    bytes: encodeLetter(
      renderLetter(messageNamed('x', { event: 'TEST', chart: undefined } as object)),
    ),
  });
  const mails = server.mails.map(({ source }) => parseMail(source));
  const ids = mails.map(({ headers }) => headers.get('message-id'));
  t.same(
    ids,
    ['dlv_1', 'dlv_1', 'dlv_2', 'dlv_3'].map((id) => `<${id}@svc.example.com>`),
  );
  const threads = mails.map(({ headers }) => headers.get('references'));
  t.same(threads, [...Array(3).fill('<inc_1@svc.example.com>'), undefined]);
  t.same(mails[3]?.types(), ['multipart/alternative', 'text/plain', 'text/html'], 'no drawing');
});

test('a test reaches a recipient, and the one-click header ends the subscription', async (t) => {
  const world = await startRecipientsWorld(t);
  const { clock, destinations, host, sealed, server } = world;
  await world.member('ada@example.com');
  const id = await world.mailTo(['ada@example.com']);
  const browser = new Browser(world);
  const token = world.tokenFor('ada@example.com');
  t.equal((await browser.post('/v1/recipients/verify', { token })).status, 200);
  const { answer } = await destinations.sendTest({ ...caller(), id });
  const [deliveryId = ''] = answer.deliveries;
  const view = host.view('demo');
  const delivery = view.instance('delivery', deliveryId)?.context as unknown as DeliveryContext;
  const contents = createContents({
    clock,
    renderers,
    bodies: noBodies,
    unsubscribeUrl: world.unsubscribeUrl,
    sealed: sealedIn(sealed),
    publicUrl: () => world.origin,
  });
  const { bytes } = await contents.body(view, delivery, deliveryId);
  server.mails.length = 0;
  const target = await contents.target(view, delivery);
  t.same(await send(server, { deliveryId, incident: '', bytes, target }), { kind: 'accepted' });
  const mail = only(server.mails);
  t.match(mail.headers.get('subject'), /^Test notification/);
  t.match(mail.find('text/plain')?.text(), /^Destination: +On call$/m);
  const link = new URL((mail.headers.get('list-unsubscribe') ?? '').slice(1, -1));
  const oneClick = { form: { 'List-Unsubscribe': 'One-Click' } };
  t.equal((await browser.send(link.pathname + link.search, oneClick)).status, 200);
  t.same(world.states(id), { 'ada@example.com': 'unsubscribed' });
});

const ofUs = { kind: 'failed', unknown: false, ours: true } as const;

test('HOOK-26: a mail server’s answer determines whose fault a failure is', async (t) => {
  const server = await startMailServer(t);
  const cases: readonly (readonly [
    at: 'sender' | 'recipient' | 'content',
    status: number,
    text: string,
    outcome: object,
    fault?: OurFault,
  ])[] = [
    ...([550, 551, 553, 521] as const).map(
      (status) =>
        [
          'recipient',
          status,
          'no such user',
          { kind: 'refused', bounced: true, pauseDestination: false },
        ] as const,
    ),
    ['recipient', 550, '5.1.1 no such user', { kind: 'refused', bounced: true, error: /5\.1\.1/ }],
    ['recipient', 550, '5.7.1 relaying denied', ofUs, 'policy'],
    ['recipient', 450, 'greylisted', { ...ofUs, ours: undefined }],
    ['recipient', 451, 'try later', { ...ofUs, ours: undefined }],
    ['recipient', 530, 'log in first', ofUs, 'login'],
    ['sender', 550, 'who are you', ofUs, 'sender'],
    ['sender', 451, 'later', ofUs],
    [
      'content',
      554,
      'looks like spam',
      { kind: 'refused', bounced: false, excerpt: /looks like spam/ },
    ],
    ...([550, 551, 553, 521] as const).map(
      (status) => ['content', status, 'not this', { kind: 'refused', bounced: false }] as const,
    ),
    [
      'recipient',
      450,
      '4.4.1 relay-7.corp.internal[10.1.2.3]:25 and [IPv6:fd00::7]: refused by mx1.corp, 4.4.1',
      {
        excerpt: /4\.4\.1 \[host\]\[\[address\]\]:25 and \[address\]: refused by \[host\], 4\.4\.1/,
      },
    ] as const,
    ['content', 452, 'no room now', { ...ofUs, ours: undefined }],
    ['content', 421, 'closing', { ...ofUs, slows: true }],
  ];
  for (const [at, status, text, outcome, fault] of cases) {
    server.refusal = { at, status, text };
    ours.length = 0;
    t.match(await send(server), outcome, `${status} ${text} of the ${at}`);
    t.same(ours, fault ? [fault] : [], `${status} ${text}: the operator's fault`);
  }
  t.equal(server.mails.length, 0);
});

test('a mail whose content was sent may have been accepted; an attempt that ended earlier was not', async (t) => {
  const server = await startMailServer(t);
  server.breaksOff = 'after the content';
  t.match(await send(server), { kind: 'failed', unknown: true });
  server.breaksOff = 'in the content';
  const large = encodeLetter({
    ...renderLetter(messageNamed('x')),
    text: 'a line\n'.repeat(500_000),
  });
  t.match(await send(server, { bytes: large }), { kind: 'failed', unknown: false });
});

test('HOOK-26: a silent, missing or rejecting mail server ends no recipient', async (t) => {
  const server = await startMailServer(t, { password: 'right' });
  ours.length = 0;
  const wrong = { url: server.url.replace('right', 'wrong') };
  t.match(await send(wrong), { ...ofUs, error: /operator/ });
  t.same(ours, ['login']);
  t.match(await send(server), { kind: 'accepted' });
  server.isSilent = true;
  t.match(await send(server, { deadlineMs: 300 }), ofUs);
  t.match(await send(server, { deadlineMs: 0 }), { ...ofUs, error: /before the mail was sent/ });
  t.match(await send({ url: 'smtp://127.0.0.1:1' }), ofUs);
  t.same(ours, ['login']);
  t.equal(server.mails.length, 1);
});

test('a configuration fault is counted each time, and logged once a minute', async (t) => {
  const server = await startMailServer(t, { password: 'right' });
  const clock = new VirtualClock(Date.UTC(2026, 0, 1));
  const metrics = createMetrics({ clock, version: 'test' });
  t.teardown(() => metrics.close());
  const lines: string[] = [];
  const log = createLog({
    clock,
    level: 'info',
    readable: false,
    write: (line) => lines.push(line),
  });
  const publicUrl = () => 'https://svc.example.com';
  const deps = { from: 'svc@example.com', publicUrl, clock, log, metrics };
  t.equal(
    openEmail({ ...deps, smtpUrl: null }),
    undefined,
    'without a server the channel is unavailable',
  );
  const channel = openEmail({ ...deps, smtpUrl: server.url.replace('right', 'wrong') });
  const attempt = () =>
    channel?.attempt({
      deliveryId: 'dlv_1',
      attemptId: 'att_1',
      incident: '',
      body,
      event: 'test',
      target: email(),
      timestampUnix: 0,
      deadlineElapsedMs: clock.elapsed() + 10_000,
    });
  for (let i = 0; i < 3; i++) t.match(await attempt(), { kind: 'failed', error: /operator/ });
  await clock.advance(60_000);
  await attempt();
  await channel?.close();
  t.equal(lines.length, 2);
  t.match(lines[0], /rejects the login of this service. Check the user and password/);
  t.notMatch(lines.join(''), /ada@|wrong/, 'neither who was to get it, nor the password');
  t.match(await metrics.text(), /svc_mail_setup_faults_total\{fault="login"\} 4/);
});

test('with any names, a mail has one subject line and no markup from names', async (t) => {
  const property = fc.property(names, (name) => {
    const { subject, html, text } = renderLetter(messageNamed(name));
    // Lines of a runbook stay separate, and long words are broken.
    const tagsOf = (displayed: string) =>
      displayed.replaceAll(/<w?br>/g, '').match(/<[^>]*>/g) ?? [];
    const known = tagsOf(renderLetter(messageNamed('x')).html);
    const tags = tagsOf(html);
    return (
      [...subject].length <= 150 &&
      !/[\p{Cc}\p{Cs}]/u.test(subject) &&
      text.isWellFormed() &&
      html.isWellFormed() &&
      Buffer.byteLength(html) < 60_000 &&
      tags.join() === known.join()
    );
  });
  t.doesNotThrow(() => fc.assert(property, { numRuns: tries(200) }));
});

test('a gap is drawn as a gap and described in words', async (t) => {
  const window = windowOf([91, 92, 93, undefined, undefined, undefined, undefined, 95, 96, 97]);
  const facts = { window, threshold: 90, unit: 'percent' };
  t.equal(gapsOf(window).length, 1);
  t.same(gapsOf(windowOf([1, 2, 3, 4])), []);
  t.same(gapsOf(windowOf([1])), []);
  t.match(chartInWords(facts), /^6 observations .*, with 1 gap: lowest 91 %/);
  const picture = pictureOf(facts);
  const column = (x: number) =>
    new Set(Array.from({ length: picture.height }, (_, y) => picture.at(x, y)));
  t.notOk(column(Math.round(picture.width / 2)).has(2), 'no line across the gap');
  t.ok(column(Math.round(picture.width / 2)).has(1), 'a band instead');
  t.ok(column(100).has(2), 'a line through the observations');
  t.ok(column(2).has(3), 'the threshold');
});

test('the drawing is a PNG with consistent parts', async (t) => {
  for (const window of [
    windowOf([5]),
    windowOf([5, 5, 5]),
    windowOf(Array(512).fill(1e12)),
    windowOf([-3, 0, 4]),
  ]) {
    const png = Buffer.from(drawChart({ window, threshold: 0, unit: 'load' }));
    t.equal(png.subarray(0, 8).toString('latin1'), '\x89PNG\r\n\x1a\n');
    let place = 8;
    const chunks = new Map<string, Buffer>();
    while (place < png.length) {
      const length = png.readUInt32BE(place);
      const named = png.subarray(place + 4, place + 8 + length);
      if (crc32(named) !== png.readUInt32BE(place + 8 + length))
        throw new Error('A checksum is wrong');
      chunks.set(named.subarray(0, 4).toString('latin1'), named.subarray(4));
      place += length + 12;
    }
    t.same([...chunks.keys()], ['IHDR', 'PLTE', 'IDAT', 'IEND']);
    t.equal(chunks.get('IHDR')?.readUInt32BE(0), 1120);
    t.equal(inflateSync(chunks.get('IDAT') ?? '').length, (1 + 1120 / 4) * 280);
    t.ok(png.length < 8_000, `${png.length} bytes`);
  }
});
