import { defined } from "@pagurus/core/data/defined";
import { isPagurusError, PagurusError } from "@pagurus/contract/errors";
import type { Pagurus } from "@pagurus/contract/host/host";

/**
 * The session that a native thread is bound to or was adopted into; adopts it if there is none. Without a thread, the one last
 * used in the folder. The sentences report what an adoption has taken. Throws what `native.bind` throws.
 */
export async function sessionOfThread(
  { native }: Pagurus,
  request: { runtime: string; thread?: string; agentId: string; cwd: string; signal?: AbortSignal },
): Promise<{ sessionKey: string; told: string[] }> {
  const { runtime, agentId, cwd, signal } = request;
  const place = { runtime, agentId, ...defined({ signal }) };
  const nativeId = request.thread ?? (await native.threads({ ...place, cwd, limit: 1 }))[0]?.nativeId;
  if (nativeId === undefined)
    throw new PagurusError(
      "thread_unknown",
      `There is no thread of ${cwd} to continue; name one, \`pagurus ${runtime} threads --all\` lists them.`,
    );
  try {
    const { session, told } = await native.bind({ ...place, nativeId });
    return { sessionKey: session.sessionKey, told };
  } catch (error) {
    const known = boundSession(error);
    if (known === undefined) throw error;
    return { sessionKey: known, told: [] };
  }
}

/** The session that already has the thread, from the error that refused to adopt it. */
function boundSession(error: unknown): string | undefined {
  if (!isPagurusError(error) || error.code !== "session_exists") return undefined;
  const { nativeId, sessionKey } = error.details;
  return typeof nativeId === "string" && typeof sessionKey === "string" ? sessionKey : undefined;
}
