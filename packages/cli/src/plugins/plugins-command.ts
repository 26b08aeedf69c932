import { JSON_OPTION } from "../shared-options.ts";
import type { Command } from "commander";
import type { Act, Cli } from "../cli.ts";
import type { InstallCommandOptions, UpdateOptions } from "./plugins-install.ts";
import type { PluginOptions } from "./plugins-work.ts";

const EXAMPLES = `
A plugin is code that runs inside pagurus, with all your rights: install what you trust. An installation runs
nothing of it; it is loaded once it is enabled.

Examples:
  $ pagurus plugins install @acme/engine
  $ pagurus plugins install ./engine-1.2.0.tgz --enable
  $ pagurus plugins install -l ./my-engine
  $ pagurus plugins info engine
  $ pagurus config set plugins.slots.contextEngine engine`;

const ID = ["<id>", "id of the plugin"] as const;

function addInstalling(plugins: Command, cli: Cli, act: Act): void {
  const load = () => import("./plugins-install.ts");
  plugins
    .command("install")
    .description(
      "install a plugin from npm, a tarball or a folder; on failure the previous installation is kept",
    )
    .argument("<what>", "name, name@version, .tgz file or folder")
    .option("-l, --link", "use the folder or file in place, instead of a copy")
    .option("--enable", "enable it without asking")
    .option("-y, --yes", "the same")
    .option("--allow-scripts", "let install scripts run, of the plugin and of its dependencies")
    .option(...JSON_OPTION)
    .action((what: string, options: InstallCommandOptions) =>
      act(async () => (await load()).pluginsInstall(cli, what, options)),
    );
  plugins
    .command("update")
    .description("install again from the original sources (default: all of them)")
    .argument("[id...]", "ids of plugins")
    .option("--allow-scripts", "let install scripts run")
    .option(...JSON_OPTION)
    .action((ids: string[], options: UpdateOptions) =>
      act(async () => (await load()).pluginsUpdate(cli, ids, options)),
    );
}

/** `plugin <id> …`: the plugin's own commands. */
export function addPluginOwnCommands(program: Command, cli: Cli, act: Act): void {
  program
    .command("plugin")
    .description("run a command of a plugin")
    .argument("[id]", "id of the plugin (default: list the plugins that have commands)")
    .argument("[arguments...]", "the plugin's own; --help lists its commands")
    .passThroughOptions()
    .allowUnknownOption()
    .helpOption(false)
    .action((id: string | undefined, rest: string[]) =>
      act(async () => (await import("./plugin-commands.ts")).pluginCommands(cli, id, rest)),
    );
}

/** `plugins …`. */
export function addPluginCommands(program: Command, cli: Cli, act: Act): void {
  const plugins = program
    .command("plugins")
    .description("install, inspect and remove plugins: engines, memories, runtimes, tools")
    .addHelpText("after", EXAMPLES);
  const load = () => import("./plugins-work.ts");
  addInstalling(plugins, cli, act);
  plugins
    .command("list")
    .description("every plugin that is installed or linked")
    .option(...JSON_OPTION)
    .action((options: PluginOptions) => act(async () => (await load()).pluginsList(cli, options)));
  plugins
    .command("info")
    .description("what a plugin is, where it comes from, what it contains; none of its code is run")
    .argument(...ID)
    .option(...JSON_OPTION)
    .action((id: string, options: PluginOptions) =>
      act(async () => (await load()).pluginsInfo(cli, id, options)),
    );
  plugins
    .command("enable")
    .description("load a plugin from now on")
    .argument(...ID)
    .option(...JSON_OPTION)
    .action((id: string, options: PluginOptions) =>
      act(async () => (await load()).pluginsSwitch(cli, id, true, options)),
    );
  plugins
    .command("disable")
    .description("stop loading a plugin; it stays installed")
    .argument(...ID)
    .option(...JSON_OPTION)
    .action((id: string, options: PluginOptions) =>
      act(async () => (await load()).pluginsSwitch(cli, id, false, options)),
    );
  plugins
    .command("uninstall")
    .description("remove a plugin; its slot is reset to the default, its settings stay")
    .argument(...ID)
    .option(...JSON_OPTION)
    .action((id: string, options: PluginOptions) =>
      act(async () => (await load()).pluginsUninstall(cli, id, options)),
    );
}
