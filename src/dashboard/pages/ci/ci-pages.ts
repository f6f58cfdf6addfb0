/** Pages of CI connections: one chunk, with each page under its name in routes.ts. */

export { Page as ciConnection } from './connection.tsx';
export { Page as ciConnections } from './connections.tsx';
export { Page as ciVerification } from './verification.tsx';
