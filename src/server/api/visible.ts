/** What a caller may see: work and sessions of its token's pattern. */
import { PagurusError } from "../../contract/errors.ts";
import type { Work } from "../../inbox/work.ts";
import { allowsPattern, allowsSession, type Caller } from "../access/caller.ts";
import type { ServerParts } from "../server-parts.ts";

/** Throws `work_not_found`, also for a session that the caller may not see. */
export async function visibleWork({ inbox }: ServerParts, caller: Caller, id: string): Promise<Work> {
  const work = await inbox.get(id);
  if (allowsSession(caller, work.sessionKey)) return work;
  throw new PagurusError("work_not_found", `The inbox has no work ${id}; check the id.`, { details: { id } });
}

/** Throws `token_invalid`. */
export function checkSession(caller: Caller, sessionKey: string): void {
  if (allowsSession(caller, sessionKey)) return;
  throw new PagurusError(
    "token_invalid",
    `The token may not use the session ${JSON.stringify(sessionKey)}; pagurus token list shows which it may.`,
  );
}

/** Throws `token_invalid` for a pattern with sessions that the caller may not use. */
export function checkPattern(caller: Caller, pattern: string): void {
  if (allowsPattern(caller, pattern)) return;
  throw new PagurusError(
    "token_invalid",
    `The token may use the sessions ${JSON.stringify(caller.sessions)} only, so it cannot create one for ${JSON.stringify(pattern)}; take a narrower pattern.`,
  );
}
