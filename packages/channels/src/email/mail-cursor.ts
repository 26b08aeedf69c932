import { mailFailure } from "./email-account.ts";

/** Place in the inbox: all up to `uid` is received. */
export interface MailCursor {
  uidValidity: string;
  uid: number;
  /** When the newest received mail reached the server, ms since the epoch. */
  at: number;
}

export function cursorText({ uidValidity, uid, at }: MailCursor): string {
  return `${uidValidity}:${uid}:${at}`;
}

/** Throws on text that `cursorText` did not make. */
export function parseCursor(text: string): MailCursor {
  const [, uidValidity, uid, at] = /^(\d+):(\d+):(\d+)$/.exec(text) ?? [];
  if (uidValidity === undefined) throw mailFailure(`the saved place ${JSON.stringify(text)} is not valid`);
  return { uidValidity, uid: Number(uid), at: Number(at) };
}
