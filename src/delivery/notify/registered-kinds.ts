/** The registration: one line for each kind, named as in the `target` of `Destination` (.proto). */
export { discord } from './discord/discord.ts';
export { email } from './email/email.ts';
export { slack } from './slack/slack.ts';
export { teams } from './teams/teams.ts';
export { webhook } from './webhook/webhook.ts';
