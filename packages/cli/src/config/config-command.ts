import { JSON_OPTION } from "../shared-options.ts";
import { Argument, type Command } from "commander";
import type { Act, Cli } from "../cli.ts";
import type { ConfigGetOptions } from "./config-work.ts";
import type { DoctorOptions } from "../doctor/doctor-work.ts";

const CONFIG_EXAMPLES = `
A path names a key with dots; a part with dots or slashes goes in brackets and quotes. A value is JSON5, or
otherwise plain text.

Examples:
  $ pagurus config get agents.defaults.model
  $ pagurus config set agents.defaults.model openai/gpt-5
  $ pagurus config set 'agents.defaults.models["openai/gpt-5"].thinking' high
  $ pagurus config set models.providers.openai.apiKey '\${OPENAI_API_KEY}'
  $ pagurus config unset agents.defaults.model`;

const COMPLETION_EXAMPLES = `
Examples:
  $ pagurus completion bash > ~/.local/share/bash-completion/completions/pagurus
  $ pagurus completion zsh > "\${fpath[1]}/_pagurus"
  $ pagurus completion fish > ~/.config/fish/completions/pagurus.fish`;

/** `config …`. */
export function addConfigCommands(program: Command, cli: Cli, act: Act): void {
  const config = program
    .command("config")
    .description("read and change the configuration; comments in the file stay")
    .addHelpText("after", CONFIG_EXAMPLES);
  const load = () => import("./config-work.ts");
  config
    .command("get")
    .description("print the configuration in use, or one key of it; secrets are hidden")
    .argument("[path]", "key")
    .option("--show-secrets", "print keys and passwords too")
    .option("--json", "print JSON, also for a single text")
    .action((path: string | undefined, options: ConfigGetOptions) =>
      act(async () => (await load()).configGet(cli, path, options)),
    );
  config
    .command("set")
    .description("set one key")
    .argument("<path>", "key")
    .argument("<value>", "JSON5, or text")
    .action((path: string, value: string) => act(async () => (await load()).configSet(cli, path, value)));
  config
    .command("unset")
    .description("remove one key")
    .argument("<path>", "key")
    .action((path: string) => act(async () => (await load()).configUnset(cli, path)));
  config
    .command("validate")
    .description("check the file; exit 2 when it would be refused")
    .action(() => act(async () => (await load()).configValidate(cli)));
  config
    .command("schema")
    .description("print the JSON Schema of the file, for editors")
    .action(() => act(async () => (await load()).configSchemaText(cli)));
}

/** `doctor` and `completion`. */
export function addToolCommands(program: Command, cli: Cli, act: Act): void {
  program
    .command("doctor")
    .description("check the configuration, the store and the programs in use; exit 1 on an error")
    .option("--fix", "repair what is safe to repair without data loss")
    .option(...JSON_OPTION)
    .action((options: DoctorOptions) =>
      act(async () => (await import("../doctor/doctor-work.ts")).doctor(cli, options)),
    );
  program
    .command("completion")
    .description("print a script that completes pagurus in a shell")
    .addArgument(new Argument("<shell>", "the shell").choices(["bash", "zsh", "fish"]))
    .addHelpText("after", COMPLETION_EXAMPLES)
    .action((shell: "bash" | "zsh" | "fish") =>
      act(async () => (await import("../completion/completion-command.ts")).completion(cli, program, shell)),
    );
}
