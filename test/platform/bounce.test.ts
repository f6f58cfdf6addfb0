/** Bounces: the examples of RFC 3464, those of real mail servers, and other mails. */
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { test } from 'tap';
import { isAboutAddress, parseBounces } from '../../src/platform/mail/bounce.ts';
import { tries } from '../support/tries.ts';

const ID = 'dlv_0123456789abcdef0123456789abcdef@svc.example.com';
const sample = (name: string) =>
  readFileSync(new URL(`../support/bounces/${name}.eml`, import.meta.url), 'utf8');

/** A report like those of RFC 3464, appendix E. */
function report(fields: string, original = `Message-ID: <${ID}>`): string {
  return `Date: Thu, 7 Jul 1994 17:16:05 -0400
From: Mail Delivery Subsystem <MAILER-DAEMON@CS.UTK.EDU>
Message-Id: <199407072116.RAA14128@CS.UTK.EDU>
Subject: Returned mail: Cannot send message for 5 days
To: <owner-info-mime@cs.utk.edu>
MIME-Version: 1.0
Content-Type: multipart/report; report-type=delivery-status;
      boundary="RAA14128.773615765/CS.UTK.EDU"

--RAA14128.773615765/CS.UTK.EDU

The original message was received at Sat, 2 Jul 1994 17:10:28 -0400
from root@localhost

   ----- The following addresses had delivery problems -----
<louisl@larry.slip.umd.edu>  (unrecoverable error)

--RAA14128.773615765/CS.UTK.EDU
content-type: message/delivery-status

${fields}

--RAA14128.773615765/CS.UTK.EDU
content-type: message/rfc822

${original}

Body
--RAA14128.773615765/CS.UTK.EDU--
`;
}

const E1 = `Reporting-MTA: dns; cs.utk.edu

Original-Recipient: rfc822;louisl@larry.slip.umd.edu
Final-Recipient: rfc822;louisl@larry.slip.umd.edu
Action: failed
Status: 4.0.0
Diagnostic-Code: smtp; 426 connection timed out
Last-Attempt-Date: Thu, 7 Jul 1994 17:15:49 -0400`;

const E2 = `Reporting-MTA: dns; cs.utk.edu

Original-Recipient: rfc822;arathib@vnet.ibm.com
Final-Recipient: rfc822;arathib@vnet.ibm.com
Action: failed
Status: 5.0.0 (permanent failure)
Diagnostic-Code: smtp; 550 'arathib@vnet.IBM.COM' is not a
 registered gateway user
Remote-MTA: dns; vnet.ibm.com

Original-Recipient: rfc822;johnh@hpnjld.njd.hp.com
Final-Recipient: rfc822;johnh@hpnjld.njd.hp.com
Action: delayed
Status: 4.0.0 (hpnjld.njd.jp.com: host name lookup failure)

Original-Recipient: rfc822;wsnell@sdcc13.ucsd.edu
Final-Recipient: rfc822;wsnell@sdcc13.ucsd.edu
Action: failed
Status: 5.0.0
Diagnostic-Code: smtp; 550 user unknown
Remote-MTA: dns; sdcc13.ucsd.edu`;

const E3 = `Reporting-MTA: mailbus; SYS30

Final-Recipient: unknown; nair_s
Action: failed
Status: 5.0.0 (unknown permanent failure)`;

const E4 = `Reporting-MTA: dns; sun2.nsfnet-relay.ac.uk

Final-Recipient: rfc822;thomas@de-montfort.ac.uk
Action: delayed
Status: 4.0.0 (unknown temporary failure)`;

test('HOOK-26: the examples of RFC 3464 are read', async (t) => {
  const read = (fields: string) =>
    parseBounces(report(fields)).map((bounce) => {
      t.equal(bounce.messageId, ID);
      return [bounce.action, bounce.status, isAboutAddress(bounce)];
    });
  t.same(read(E1), [['failed', '4.0.0', false]], 'not the fault of the address');
  t.same(read(E2), [
    ['failed', '5.0.0', true],
    ['delayed', '4.0.0', false],
    ['failed', '5.0.0', true],
  ]);
  t.same(read(E3), [['failed', '5.0.0', true]]);
  t.same(read(E4), [['delayed', '4.0.0', false]]);
});

test('HOOK-26: the reports of Exim and Postfix are read', async (t) => {
  for (const [name, status] of [
    ['exim', '5.0.0'],
    ['postfix', '5.1.1'],
  ] as const) {
    const bounce = { messageId: ID, action: 'failed', status };
    t.same(parseBounces(sample(name)), [bounce], name);
    t.same(parseBounces(sample(name).replaceAll('\n', '\r\n')), [bounce], `${name} with CRLF`);
    t.ok(isAboutAddress(bounce));
  }
});

test('HOOK-26: a report without the mail names it by its envelope id', async (t) => {
  const about = `Original-Envelope-Id: ${ID}\n${E3}`;
  t.equal(parseBounces(report(about, 'Subject: x'))[0]?.messageId, ID);
  t.same(parseBounces(report(E3, 'Subject: x')), [], 'without both it is of no use');
});

test('HOOK-26: only a permanent fault of the address ends it', async (t) => {
  const about = (status: string, diagnostic = '') => {
    const fields = `Reporting-MTA: dns; x\n\nAction: failed\nStatus: ${status}\n${diagnostic}`;
    return parseBounces(report(fields)).map(isAboutAddress);
  };
  for (const status of ['5.1.1', '5.1.10', '5.2.1', '5.4.4', '5.0.0'])
    t.same(about(status), [true], status);
  for (const status of ['4.2.2', '5.7.1', '5.3.4', '5.6.0', '5.2.3', '2.0.0'])
    t.same(about(status), [false], status);
  const policy = 'Diagnostic-Code: smtp; 550 5.7.1 Message rejected as spam';
  t.same(about('5.0.0', policy), [false], "the remote server's own status counts");
});

test('HOOK-26: encoded reports are read', async (t) => {
  const encoded = (encoding: string, body: string) =>
    report('@').replace(
      'content-type: message/delivery-status\n\n@',
      `content-type: message/delivery-status\ncontent-transfer-encoding: ${encoding}\n\n${body}`,
    );
  const base64 = Buffer.from(E3).toString('base64');
  for (const source of [
    encoded('base64', base64),
    encoded('Quoted-Printable', E3.replace('failed', 'fai=\nl=65d')),
  ]) {
    t.match(parseBounces(source), [{ action: 'failed', status: '5.0.0' }]);
  }
});

test('other mails are no reports, and nothing throws', async (t) => {
  for (const source of [
    '',
    '\n',
    'Subject: Out of office\n\nI am away',
    'Content-Type: multipart/report\n\nx',
  ]) {
    t.same(parseBounces(source), []);
  }
  const whole = report(E1);
  const property = fc.property(fc.nat(whole.length), fc.nat(50), fc.string(), (at, cut, text) => {
    parseBounces(whole.slice(0, at) + text + whole.slice(at + cut));
    return true;
  });
  t.doesNotThrow(() => fc.assert(property, { numRuns: tries(300) }));
});
