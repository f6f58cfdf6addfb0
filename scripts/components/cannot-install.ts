/** A component cannot be installed, for a reason that a person can fix; the message is for them. */
export class CannotInstall extends Error {}
