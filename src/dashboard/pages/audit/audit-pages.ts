/** Pages of machines and the audit trail: one chunk, with each page under its name in routes.ts. */

export { Page as audit } from './audit.tsx';
export { Page as machine } from './machine.tsx';
export { Page as machines } from './machines.tsx';
