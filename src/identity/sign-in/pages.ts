/**
 * Pages of sign-in: HTML that works without a script. On the link page, a script only reads the
 * token from the address's fragment. The pages fetch nothing and name no other site. Style and
 * script are allowed by their digests (CSP level 3, section 2.3.1).
 */
import { hash } from 'node:crypto';
import { withReturn } from './request-fields.ts';

export interface Page {
  readonly html: string;
  readonly contentSecurityPolicy: string;
  /** true if it has a form, whose request must carry an Origin. */
  readonly hasForm: boolean;
}

const STYLE = `
:root { color-scheme: light dark; font: 1rem/1.5 system-ui, sans-serif }
main { max-width: 26rem; margin: 12vh auto; padding: 0 1rem }
h1 { font-size: 1.4rem }
form, p { margin: 1.25rem 0 }
label { display: block; margin-bottom: .25rem }
input[type=email], input[type=text] { box-sizing: border-box; width: 100%; padding: .5rem; font: inherit }
button, a.button { display: inline-block; margin-top: .75rem; padding: .5rem 1rem; font: inherit;
  color: #fff; background: #1f5fbf; border: 0; border-radius: .25rem; text-decoration: none; cursor: pointer }
:focus-visible { outline: 3px solid #e0a000; outline-offset: 2px }
`;

/**
 * Fills the field `token` from the address's fragment and hides `typed`. Removes the token from the
 * address bar and the history. The return path stays, for a reload.
 */
export const LINK_SCRIPT = `
const token = location.hash.slice(1);
if (token) {
  document.getElementById('token').value = token;
  document.getElementById('typed').hidden = true;
  history.replaceState(null, '', location.pathname + location.search);
}
`;

/** Content of a page, and the addresses to which its forms may lead. */
interface Content {
  /** Plain text. */
  readonly title: string;
  /** HTML, in which text from elsewhere is `escaped`. */
  readonly body: string;
  readonly script?: string;
  /**
   * In addition to this service, because browsers also apply form-action to the redirect after a
   * form.
   */
  readonly formTarget?: string;
}

export function signInPage(options: {
  readonly providerLabel: string | undefined;
  readonly hasEmail: boolean;
  readonly returnPath: string;
  /** true: only a sign-in with a proof of this moment counts. */
  readonly isAgain: boolean;
  /** Name of the person who is signed in and must sign in again; undefined if no one is. */
  readonly signedIn: string | undefined;
}): Page {
  const { providerLabel, hasEmail, returnPath, isAgain, signedIn } = options;
  const parts: string[] = [];
  if (signedIn !== undefined) {
    parts.push(
      `<p>You are signed in as <strong>${escaped(signedIn)}</strong>. This action needs a recent sign-in.</p>`,
    );
  }
  if (providerLabel !== undefined) {
    const again = isAgain ? { again: '1' } : {};
    const target = `/auth/login?${new URLSearchParams({ ...again, return: returnPath })}`;
    const label = `Sign in with ${providerLabel}`;
    parts.push(`<p><a class="button" href="${escaped(target)}">${escaped(label)}</a></p>`);
  }
  if (hasEmail) {
    parts.push(`<form method="post" action="/auth/email">
${hidden('return', returnPath)}<label for="email">Email address</label>
<input id="email" name="email" type="text" inputmode="email" autocomplete="email" autocapitalize="none" spellcheck="false" maxlength="254" required>
<button>Send me a link</button>
</form>`);
  }
  const link = escaped(withReturn('/auth/link', returnPath));
  parts.push(
    `<p>If you have a link, from the start of the service or from an operator (<code>svc admin login-link</code>), open it, or <a href="${link}">enter it here</a>.</p>`,
  );
  const title = signedIn === undefined ? 'Sign in' : 'Sign in again';
  return page({ title, body: parts.join('\n') });
}

export function linkPage(options: {
  /** Name of the signed-in person, who would accept an invitation; undefined if no one is. */
  readonly signedIn: string | undefined;
  readonly returnPath: string;
}): Page {
  const { signedIn, returnPath } = options;
  const already =
    signedIn === undefined
      ? ''
      : `<p>You are signed in here as <strong>${escaped(signedIn)}</strong>, who would accept an invitation. If that is not you, <a href="/auth/signed-in">sign out</a> first and open the link again.</p>\n`;
  return page({
    title: 'Sign in with a link',
    script: LINK_SCRIPT,
    body: `${already}<p>Continue only if you requested this link, or got it from someone you trust.</p>
<form method="post" action="/auth/link">
${hidden('return', returnPath)}<div id="typed"><label for="token">The link, or the part of it after #</label>
<input id="token" name="token" type="text" autocomplete="off" spellcheck="false" maxlength="1500" required></div>
<button>Sign in</button>
</form>`,
  });
}

export interface CliRequest {
  readonly port: number;
  readonly state: string;
  /** RFC 7636, S256. */
  readonly challenge: string;
}

/** @param request `target`: origin to which the form's redirect leads */
export function cliPage({
  port,
  state,
  challenge,
  target,
}: CliRequest & { readonly target: string }): Page {
  return page({
    title: 'Sign in the command line',
    formTarget: target,
    body: `<p><code>svc login</code> on this computer (port ${port}) requests to act as you. Continue only if you have just started it.</p>
<form method="post" action="/auth/cli">
${hidden('port', String(port))}${hidden('state', state)}${hidden('challenge', challenge)}<button>Sign in the command line</button>
</form>`,
  });
}

/** Asks a signed-in person whether an account at the provider is theirs. */
export function accountPage(options: {
  /** The account, sealed. */
  readonly account: string;
  /** Name of the person who is signed in. */
  readonly person: string;
  /** Address or name of the account. */
  readonly name: string;
  /** Host of the provider. */
  readonly label: string;
  readonly returnPath: string;
}): Page {
  const { account, person, name, label, returnPath } = options;
  return page({
    title: 'Link this account?',
    body: `<p>You are signed in here as <strong>${escaped(person)}</strong>. From now on, <strong>${escaped(name)}</strong> at ${escaped(label)} would sign you in too. Continue only if both are you.</p>
<form method="post" action="/auth/account">
${hidden('account', account)}${hidden('return', returnPath)}<button>Link the account</button>
</form>
<p><a href="${escaped(returnPath)}">Do not link it</a></p>`,
  });
}

/** Leads back to the tab that asked for a recent sign-in. */
export function signedInAgainPage(person: string): Page {
  return page({
    title: 'You are signed in',
    body: `<p>You are signed in as <strong>${escaped(person)}</strong>. Close this tab, and press the button in the other one again.</p>`,
  });
}

/** Says who is signed in. Offers to link an account, and to sign out. */
export function signedInPage(options: {
  readonly person: string;
  /** Host of the identity provider; undefined if none is configured. */
  readonly providerLabel: string | undefined;
}): Page {
  const { person, providerLabel } = options;
  const account =
    providerLabel === undefined
      ? ''
      : `<p><a class="button" href="/auth/login">Link an account at ${escaped(providerLabel)}</a></p>\n`;
  return page({
    title: 'You are signed in',
    body: `<p>You are signed in as <strong>${escaped(person)}</strong>.</p>
${account}<form method="post" action="/auth/logout">
<label><input type="checkbox" name="everywhere"> on all my computers</label>
<button>Sign out</button>
</form>`,
  });
}

/** After a sign-out here. The session at the provider would sign in whoever uses the browser next. */
export function signedOutPage(options: {
  /** Host of the provider. */
  readonly label: string;
  /** Address at which the browser signs out of the provider. */
  readonly address: string;
}): Page {
  const { label, address } = options;
  return page({
    title: 'Signed out',
    body: `<p>This browser is signed out here. It may still be signed in at ${escaped(label)}, which would sign you in again without a password.</p>
<p><a class="button" href="${escaped(address)}">Sign out at ${escaped(label)} too</a></p>
<p><a href="/auth/sign-in">Sign in</a></p>`,
  });
}

/** A page with a title, a sentence, and a link to sign in if that helps. */
export function sentencePage(options: {
  readonly title: string;
  readonly sentence: string;
  /** Path of the offered sign-in; undefined if none is offered, because it would not help. */
  readonly signInPath?: string;
}): Page {
  const { title, sentence, signInPath } = options;
  const offer =
    signInPath === undefined ? '' : `\n<p><a href="${escaped(signInPath)}">Sign in</a></p>`;
  return page({ title, body: `<p>${escaped(sentence)}.</p>${offer}` });
}

/** A whole page in the style of the service. */
export function page({ title, body, script, formTarget }: Content): Page {
  const hasForm = body.includes('<form');
  const targets = `'self'${formTarget === undefined ? '' : ` ${formTarget}`}`;
  const directives = [
    "default-src 'none'",
    `style-src ${digest(STYLE)}`,
    ...(script === undefined ? [] : [`script-src ${digest(script)}`]),
    `form-action ${hasForm ? targets : "'none'"}`,
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ];
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${escaped(title)}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>${escaped(title)}</h1>
${body}
</main>${script === undefined ? '' : `\n<script>${script}</script>`}
</body>
</html>
`;
  return { html, hasForm, contentSecurityPolicy: directives.join('; ') };
}

function hidden(name: string, value: string): string {
  return `<input type="hidden" name="${name}" value="${escaped(value)}">\n`;
}

function digest(text: string): string {
  return `'sha256-${hash('sha256', text, 'base64')}'`;
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Text escaped for HTML and its attributes. */
export function escaped(text: string): string {
  return text.replaceAll(/[&<>"']/g, (char) => ENTITIES[char] ?? '');
}
