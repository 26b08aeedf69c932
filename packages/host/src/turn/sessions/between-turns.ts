/** What a host does with a session between its turns. Loaded at the first such request: a turn needs none of it. */
export { compactManually } from "../compaction/manual.ts";
export { answerBetweenTurns } from "../compaction/outer-compaction.ts";
export { previewContext } from "./context-preview.ts";
export { deleteSession } from "./delete-session.ts";
export { bindThread, listThreads, nativeStatus, nativeTools } from "./native-sessions.ts";
export { runPluginCommand } from "./plugin-command.ts";
export { renewSession } from "./renew-session.ts";
export { maintainSession } from "./maintain-session.ts";
