/**
 * The document that every page of the dashboard begins as: it names the scripts and the stylesheet,
 * and holds nothing of the person or the project.
 */
import type { PageName } from '../routes.ts';
import type { BuiltDashboard } from './built-dashboard.ts';

/** Nothing inline, so there is no nonce; nothing of another origin; no text becomes markup. */
export const SHELL_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

/**
 * The shell of a page: with the chunks of the page announced, so that they load beside the rest, and
 * with the header's beginning, which is seen when the stylesheet is there and stays where it is.
 * Names of files come from the build: letters, digits, dashes.
 */
export function shellOf({ manifest }: BuiltDashboard, page: PageName): string {
  const { entries, preload, pages } = manifest;
  const address = (name: string): string => `/assets/${name}`;
  const announced = [...preload, ...pages[page]].map(
    (name) => `<link rel="modulepreload" href="${address(name)}">`,
  );
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>svc</title>
<link rel="icon" href="${address(entries.icon)}">
<link rel="license" href="${address('LICENSES.txt')}">
<script src="${address(entries.theme)}"></script>
<link rel="stylesheet" href="${address(entries.style)}">
${announced.join('\n')}
<script type="module" src="${address(entries.main)}"></script>
</head>
<body>
<div id="app"><header class="header"><a class="brand" href="/">svc</a></header></div>
<noscript>The dashboard needs JavaScript. The command svc does without.</noscript>
</body>
</html>
`;
}
