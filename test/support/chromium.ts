/**
 * Debian's Chromium, driven by playwright-core: one browser for a test file, a context of its own
 * (cookies, storage) for each visitor. What a visitor's pages must never do is collected for all of
 * them: a violation of the policy, an error in the console, a request to another origin.
 */
import { type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { componentPath } from './components.ts';

/**
 * Time limit of a step, ms: longer than the service grants to any request, on a machine that is busy with
 * others. Only a failure waits so long.
 */
const STEP_MS = 120_000;

const ARGUMENTS = [
  // As root, which tests in containers are, it starts only without.
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
  /** What went wrong so far, a line each. */
  readonly problems: string[];
  /** Addresses that were asked for so far, in order, without their origin. */
  readonly requested: readonly string[];
}

export interface Chromium {
  /** A browser of somebody who was never here; what it does goes to `origin`. */
  visitor(origin: string, options?: BrowserContextOptions): Promise<Visitor>;
}

type Teardown = { teardown(fn: () => unknown): unknown };

/** Ends with the test. Throws, with how to get it, when Chromium is not there. */
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
        if (url.origin !== origin) problems?.push(`asked another origin: ${url.href}`);
      });
      page.on('response', (answer) => {
        if (answer.status() >= 400) problems?.push(`${answer.status()} for ${answer.url()}`);
      });
      // Chromium logs what it refuses; the event says which directive, of the pages of svc too.
      await page.exposeFunction('svcTestViolation', (what: string) => problems?.push(what));
      await page.addInitScript({ content: NOTE_VIOLATIONS });
      return { page, problems: problems ?? [], requested: requested ?? [] };
    },
  };
}

/** Runs in the page. */
const NOTE_VIOLATIONS = `document.addEventListener('securitypolicyviolation', (event) =>
  svcTestViolation('policy: ' + event.violatedDirective + ' ' + event.blockedURI));`;
