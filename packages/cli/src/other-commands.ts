import type { Command } from "commander";
import { addAcpCommand } from "./acp/acp-command.ts";
import type { Act, Cli } from "./cli.ts";
import { addCodexCommands } from "./codex/codex-commands.ts";
import { addConfigCommands, addToolCommands } from "./config/config-command.ts";
import { addContextCommands, addHostCommands } from "./context/context-command.ts";
import { addMigrateCommands } from "./doctor/migrate-command.ts";
import { addEngineCommands } from "./engines/engines-command.ts";
import { addChannelCommands } from "./channels/channels-command.ts";
import { addHeldCommands } from "./held/held-command.ts";
import { addJobCommands } from "./jobs/jobs-command.ts";
import { addLosslessCommands } from "./lossless/lossless-command.ts";
import { addMcpCommands } from "./mcp/mcp-command.ts";
import { addPluginCommands, addPluginOwnCommands } from "./plugins/plugins-command.ts";
import { addRequestCommands } from "./requests/requests-command.ts";
import { addRuntimeCommands } from "./runtimes/runtimes-command.ts";
import { addServerCommands } from "./server/serve-command.ts";
import { addSessionCommands } from "./sessions/sessions-command.ts";
import { addSkillCommands } from "./skills/skills-command.ts";
import { addStoreCommands } from "./store/store-command.ts";
import { addTrustCommands } from "./trust/trust-command.ts";
import { addWireCommand } from "./wire/wire-command.ts";

/** Declares every command but `run` and `chat`, in the order of the help. */
export function addOtherCommands(program: Command, cli: Cli, act: Act): void {
  addWireCommand(program, cli, act);
  addAcpCommand(program, cli, act);
  addServerCommands(program, cli, act);
  addJobCommands(program, cli, act);
  addChannelCommands(program, cli, act);
  addSessionCommands(program, cli, act);
  addStoreCommands(program, cli, act);
  addContextCommands(program, cli, act);
  addRequestCommands(program, cli, act);
  addHostCommands(program, cli, act);
  addHeldCommands(program, cli, act);
  addLosslessCommands(program, cli, act);
  addEngineCommands(program, cli, act);
  addRuntimeCommands(program, cli, act);
  addCodexCommands(program, cli, act);
  addPluginCommands(program, cli, act);
  addPluginOwnCommands(program, cli, act);
  addTrustCommands(program, cli, act);
  addSkillCommands(program, cli, act);
  addMcpCommands(program, cli, act);
  addConfigCommands(program, cli, act);
  addMigrateCommands(program, cli, act);
  addToolCommands(program, cli, act);
}
