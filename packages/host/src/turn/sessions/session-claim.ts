/** Claims the session that a caller means, so that no two live turns or programs share one. */
import type { ClaimRequest, SessionClaim } from "@pagurus/contract/session/claim";
import { isPagurusError } from "@pagurus/contract/errors";
import { renewSession } from "./renew-session.ts";
import type { AgentHost } from "../agent/agent-host.ts";
import { folderOf, lastOf, MAIN } from "../agent/session-key.ts";
import { defined } from "@pagurus/core/data/defined";

/**
 * Claims the session of a request for one live turn or program. When the folder's is in use and the caller names none, a new one of the
 * folder is created. Throws `session_locked`, `session_key_invalid`.
 */
export async function claimSession(
  host: AgentHost,
  { sessionKey, cwd, how = "continue" }: ClaimRequest,
): Promise<SessionClaim> {
  const { store } = host;
  if (sessionKey !== undefined) return claimOf(host, store.hold(sessionKey));
  const folder = folderOf(host, cwd);
  if (folder === undefined) return claimMain(host, cwd, how);
  if (how === "new") return claimOf(host, store.begin(folder), { folder });
  const key = lastOf(host, folder)?.sessionKey ?? store.firstKey(folder);
  try {
    const claim = claimOf(host, store.hold(key, folder), { folder });
    if (claim.record === undefined || claim.record.folder === folder) return claim;
    // After it was chosen, another program created or copied a session of another folder under the key.
    claim.release();
    return claimOf(host, store.begin(folder), { folder });
  } catch (error) {
    if (how === "last" || !isPagurusError(error) || error.code !== "session_locked") throw error;
    return claimOf(host, store.begin(folder), {
      folder,
      insteadOf: { sessionKey: key, reason: error.message },
    });
  }
}

async function claimMain(
  host: AgentHost,
  cwd: string | undefined,
  how: ClaimRequest["how"],
): Promise<SessionClaim> {
  const claim = claimOf(host, host.store.hold(MAIN));
  if (how !== "new" || (claim.record?.entryCount ?? 0) === 0) return claim;
  try {
    const record = await renewSession(host, { sessionKey: MAIN, reason: "new", ...defined({ cwd }) });
    return { ...claim, record };
  } catch (error) {
    claim.release();
    throw error;
  }
}

function claimOf(
  host: AgentHost,
  hold: ReturnType<AgentHost["store"]["hold"]>,
  about: Pick<SessionClaim, "folder" | "insteadOf"> = {},
): SessionClaim {
  const { sessionKey } = hold;
  try {
    const record = host.store.find(sessionKey);
    return { sessionKey, ...defined({ record }), ...about, release: () => hold.release() };
  } catch (error) {
    hold.release();
    throw error;
  }
}
