import type { FileRewind, FileRewindRequest } from "@pagurus/contract/host/checkpoints";
import { currentFolder } from "@pagurus/core/platform/surroundings";
import type { AgentHost } from "../agent/agent-host.ts";
import { sessionKeyOf } from "../agent/session-key.ts";

/** Brings the files of the session's folder back, or shows it. Throws as `Pagurus.rewindFiles`. */
export async function rewindFiles(host: AgentHost, request: FileRewindRequest): Promise<FileRewind> {
  const cwd = request.cwd ?? host.settings.workspace ?? currentFolder();
  const sessionKey = sessionKeyOf(host, { ...request, cwd });
  return host.checkpoints.rewind(request, { cwd, sessionKey });
}
