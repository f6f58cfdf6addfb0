/** Pages of members and service accounts: one chunk, with each page under its name in routes.ts. */

export { Page as memberKeys } from './member-keys.tsx';
export { Page as members } from './members.tsx';
export { Page as serviceAccount } from './service-account.tsx';
export { Page as serviceAccounts } from './service-accounts.tsx';
