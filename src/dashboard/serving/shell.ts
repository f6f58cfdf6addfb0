/**
 * The initial document of every dashboard page: it names the scripts and the stylesheet, and
 * contains no data of the user or the project.
 */
import type { PageName } from '../routes.ts';
import type { BuiltDashboard } from './built-dashboard.ts';

/**
 * Nothing is inline, so no nonce is needed; nothing comes from another origin; no text becomes
 * markup.
 */
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
 * The shell of a page. It preloads the page's chunks in parallel with the others, and contains the
 * start of the header, which is visible as soon as the stylesheet is loaded and does not move. File
 * names come from the build: letters, digits, dashes.
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
<noscript>The dashboard needs JavaScript. The command svc does not.</noscript>
</body>
</html>
`;
}
