/** Pages of alert instances: one chunk, with each page under its name in routes.ts. */

export { Page as alertInstance } from './instance.tsx';
export { Page as alertInstances } from './instances.tsx';
