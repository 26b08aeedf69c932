import type { Command } from "commander";
import type { Cli } from "../cli.ts";
import { bashScript } from "./completion-bash.ts";
import { fishScript } from "./completion-fish.ts";
import { completionTree } from "./completion-tree.ts";
import { zshScript } from "./completion-zsh.ts";
import { EXIT_DONE } from "../cli-failure.ts";

/** `pagurus completion`. */
export function completion(cli: Cli, program: Command, shell: "bash" | "zsh" | "fish"): Promise<number> {
  const tree = completionTree(program);
  const script = shell === "bash" ? bashScript(tree) : shell === "zsh" ? zshScript(tree) : fishScript(tree);
  cli.stdout.write(script);
  return Promise.resolve(EXIT_DONE);
}
