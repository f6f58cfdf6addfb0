/** Pages of destinations: one chunk, with each page under its name in routes.ts. */

export { Page as destination } from './destination.tsx';
export { Page as destinations } from './destinations.tsx';
export { Page as newDestination } from './new-destination.tsx';
