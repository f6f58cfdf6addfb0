/** Pages of a project as a whole: one chunk, with each page under its name in routes.ts. */

export { Page as limits } from './limits.tsx';
export { Page as notices } from './notices.tsx';
export { Page as overview } from './overview.tsx';
