/** The caller of a request: by its bearer token, the key of a provider's client, or this user's own key. A browser's login is a bearer token too: no cookie counts. */
import type { IncomingMessage } from "node:http";
import { timingSafeEqual } from "node:crypto";
import { OWNER } from "@pagurus/contract/host/authority";
import type { Caller } from "./caller.ts";
import type { Awaitable } from "@pagurus/inbox/inbox";
import { hashOf, type Tokens } from "./tokens.ts";

/** This user's own commands. */
const LOCAL: Caller = { ...OWNER, tokenId: "local" };

export interface CallerSources {
  tokens: Pick<Tokens, "callerOf">;
  /** Secret of this user's own commands. */
  localKey: string;
}

function secretOf({ headers }: IncomingMessage): string | undefined {
  const { authorization } = headers;
  const bearer = /^bearer +(\S+)$/i.exec(authorization ?? "")?.[1];
  // Clients of Anthropic's and Google's APIs have headers of their own.
  const keys = [headers["x-api-key"], headers["x-goog-api-key"]];
  return bearer ?? keys.find((key): key is string => typeof key === "string" && key !== "");
}

function isEqual(one: string, other: string): boolean {
  return timingSafeEqual(Buffer.from(hashOf(one)), Buffer.from(hashOf(other)));
}

/** Undefined for a request without a valid secret. Throws `store_read_failed` where the tokens cannot be read. */
export function callerOf(
  request: IncomingMessage,
  { tokens, localKey }: CallerSources,
): Awaitable<Caller | undefined> {
  const secret = secretOf(request);
  if (secret === undefined) return undefined;
  if (isEqual(secret, localKey)) return LOCAL;
  return tokens.callerOf(secret);
}
