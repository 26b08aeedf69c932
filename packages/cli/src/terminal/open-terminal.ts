/** Makes the terminal view of a chat, with its history and its completions. */
import { join } from "node:path";
import { THINKING_LEVELS } from "@pagurus/host/command/command-types";
import { otherConversations } from "@pagurus/host/command/session-choices";
import { PERMISSION_MODES } from "@pagurus/contract/host/permission-modes";
import type { Cli } from "../cli.ts";
import type { ViewMaker, ViewSources } from "../chat/chat-view.ts";
import type { CommandRow } from "./completion.ts";
import { InputHistory } from "./input-history.ts";
import { TerminalScreen } from "./terminal-screen.ts";
import { WorkspaceFiles } from "@pagurus/host/tool/files/workspace-files";

interface TerminalSetting {
  cwd: string;
  home: string;
  notifyCompactions: boolean;
  rows(sources: ViewSources): Promise<readonly CommandRow[]>;
}

export async function openTerminal(
  cli: Cli,
  { cwd, home, notifyCompactions, rows }: TerminalSetting,
): Promise<ViewMaker> {
  const history = new InputHistory(join(home, "history.jsonl"), cwd);
  await history.load();
  const files = new WorkspaceFiles(cwd);
  return (events, sources) =>
    new TerminalScreen({
      cli,
      cwd,
      events,
      history,
      notifyCompactions,
      sources: {
        commands: () => rows(sources),
        values: (command) => valuesOf(command, cli, sources),
        files: (signal) => files.list(signal),
      },
    });
}

/** Values of the arguments of commands, for example the models of `/model`. Never throws. */
async function valuesOf(
  command: string,
  { env }: Cli,
  { pagurus, where }: ViewSources,
): Promise<readonly { value: string; label: string }[]> {
  const { agentId, cwd, sessionKey: own } = where();
  const words = (values: readonly string[]): { value: string; label: string }[] =>
    values.map((value) => ({ value, label: value }));
  try {
    if (command === "model") {
      const { modelChecks } = await import("../chat/model-checks.ts");
      return words([...modelChecks(env, agentId).usable(), "default"]);
    }
    if (command === "permission") return words([...PERMISSION_MODES, "default"]);
    if (command === "thinking") return words([...THINKING_LEVELS, "default"]);
    const store = command === "resume" ? pagurus()?.sessions(agentId) : undefined;
    return (store ? otherConversations(store, own, cwd) : []).map(({ sessionKey, name, title }) => ({
      value: sessionKey,
      label: sessionKey,
      description: name ?? title ?? "",
    }));
  } catch {
    return [];
  }
}
