/** Pages of members and of service accounts: one chunk, each page under its name in routes.ts. */

export { Page as memberKeys } from './member-keys.tsx';
export { Page as members } from './members.tsx';
export { Page as serviceAccount } from './service-account.tsx';
export { Page as serviceAccounts } from './service-accounts.tsx';
