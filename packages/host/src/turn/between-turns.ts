/** What a host does with a session between its turns. Loaded at the first such request: a turn needs none of it. */
export { compactManually } from "./sessions/manual-compaction.ts";
export { answerBetweenTurns } from "./sessions/answer-compaction.ts";
export { previewContext, recallForPrompt } from "./sessions/context-preview.ts";
export { deleteSession } from "./sessions/delete-session.ts";
export { bindThread, listThreads, nativeStatus, nativeTools } from "./sessions/native-sessions.ts";
export { runPluginCommand } from "./sessions/plugin-command.ts";
export { rewindFiles as rewind } from "./sessions/rewind-files.ts";
export { renewSession } from "./sessions/renew-session.ts";
export { maintainSession } from "./sessions/maintain-session.ts";
