/**
 * Debian's Chromium, driven by playwright-core: one browser per test file, and a context of its own
 * (cookies, storage) for each visitor. It records what no visitor's page may do: violate the
 * policy, log an error to the console, or send a request to another origin.
 */
import {
  type APIResponse,
  type BrowserContextOptions,
  chromium,
  type Page,
  type Route,
} from 'playwright-core';
import { componentPath } from './components.ts';

/**
 * Time limit of a step, ms: longer than the service grants any request, even on a busy machine.
 * Only a failure takes this long.
 */
const STEP_MS = 120_000;

const ARGUMENTS = [
  // Required for root, and tests in containers run as root.
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

export interface Visitor {
  readonly page: Page;
  /** Problems so far, one per line. */
  readonly problems: string[];
  /** Addresses requested so far, in order, without their origin. */
  readonly requested: readonly string[];
}

export interface Chromium {
  /** Opens a fresh browser context whose requests go to `origin`. */
  visitor(origin: string, options?: BrowserContextOptions): Promise<Visitor>;
}

type Teardown = { teardown(fn: () => unknown): unknown };

/** Starts a browser that ends with the test. Throws with instructions if Chromium is missing. */
export async function startChromium(t: Teardown): Promise<Chromium> {
  const browser = await chromium.launch({
    executablePath: componentPath('chromium'),
    args: ARGUMENTS,
    timeout: STEP_MS,
  });
  t.teardown(() => browser.close());
  return {
    async visitor(origin, options = {}) {
      const context = await browser.newContext({ baseURL: origin, ...options });
      context.setDefaultTimeout(STEP_MS);
      const page = await context.newPage();
      const [problems, requested]: string[][] = [[], []];
      page.on('console', (message) => {
        if (message.type() !== 'error' && message.type() !== 'warning') return;
        problems?.push(`console: ${message.text()}`);
      });
      page.on('pageerror', (error) => void problems?.push(`thrown: ${error.message}`));
      page.on('request', (request) => {
        const url = new URL(request.url());
        requested?.push(url.pathname + url.search);
        // Links in mails lead to the address that programs use.
        const isLink = request.isNavigationRequest() && url.hostname === '127.0.0.1';
        if (url.origin !== origin && !(isLink && url.port === new URL(origin).port))
          problems?.push(`asked another origin: ${url.href}`);
      });
      page.on('response', (answer) => {
        if (answer.status() >= 400) problems?.push(`${answer.status()} for ${answer.url()}`);
      });
      // Chromium logs each refusal. The event also names the directive, for the pages of svc too.
      await page.exposeFunction('svcTestViolation', (what: string) => problems?.push(what));
      await page.addInitScript({ content: NOTE_VIOLATIONS });
      return { page, problems: problems ?? [], requested: requested ?? [] };
    },
  };
}

/** Calls a method as the page's script does, with its session and its Origin. */
export async function callFrom(
  page: Page,
  method: string,
  message: object,
): Promise<{ readonly status: number; readonly body: Record<string, unknown> }> {
  const init = {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'connect-protocol-version': '1' },
    body: JSON.stringify(message),
  };
  const { status, text } = (await page.evaluate(
    `fetch(${JSON.stringify(method)}, ${JSON.stringify(init)})
      .then(async (answer) => ({ status: answer.status, text: await answer.text() }))`,
  )) as { readonly status: number; readonly text: string };
  return { status, body: JSON.parse(text) };
}

/**
 * Sends a request on, as `route.fetch` does, which is a program: only browsers resolve the name of
 * the pages.
 */
export async function sendOn(route: Route): Promise<APIResponse> {
  const url = new URL(route.request().url());
  const { host } = url;
  if (url.hostname.endsWith('.localhost')) url.hostname = '127.0.0.1';
  return route.fetch({ url: url.href, headers: { ...(await route.request().allHeaders()), host } });
}

/** Runs in the page. */
const NOTE_VIOLATIONS = `document.addEventListener('securitypolicyviolation', (event) =>
  svcTestViolation('policy: ' + event.violatedDirective + ' ' + event.blockedURI));`;
