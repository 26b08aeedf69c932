/** Failures of logins; each message is the end of a sentence that begins with the server. */

/** The server asks for a login that only a person can make. */
export class LoginNeeded extends Error {}

/** A login that a person started did not succeed. */
export class LoginFailed extends Error {}
