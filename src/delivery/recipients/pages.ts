/** The pages behind the links of our mails. They say nothing of projects: whoever opens them reads them. */
import { escaped, LINK_SCRIPT, type Page, page } from '../../identity/sign-in/pages.ts';

/** The same for every link: what it is for is known once its button is pressed. */
export function verifyPage(): Page {
  return page({
    title: 'Confirm your address',
    script: LINK_SCRIPT,
    body: `<p>Press the button if alerts may be mailed to you, as the mail with this link says.</p>
<form method="post" action="/v1/recipients/verify">
<div id="typed"><label for="token">What stands after # in the link</label>
<input id="token" name="token" type="text" autocomplete="off" spellcheck="false" maxlength="200" required></div>
<button>Confirm my address</button>
</form>`,
  });
}

/** The button sends what a mail program's own button sends (RFC 8058, section 3.2). */
export function unsubscribePage(code: string): Page {
  const action = `/v1/recipients/unsubscribe?code=${encodeURIComponent(code)}`;
  return page({
    title: 'No more alerts by mail',
    body: `<p>Press the button to get no more mails of the destination whose mail you came from.</p>
<form method="post" action="${escaped(action)}">
<input type="hidden" name="List-Unsubscribe" value="One-Click">
<button>Unsubscribe</button>
</form>`,
  });
}
