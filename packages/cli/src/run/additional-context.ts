/** `--context`, `--context-file` and `--untrusted`: hidden context sent with each input. */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import type { Command } from "commander";
import type { AdditionalContext, AdditionalContextEntry } from "@pagurus/contract/fragment";
import type { Cli } from "../cli.ts";
import { usageError } from "../cli-failure.ts";

export interface ContextOptions {
  /** Each `key=value`. */
  context?: string[];
  /** Each `key=path`. */
  contextFile?: string[];
  /** Each `key=value`. */
  untrusted?: string[];
}

const gather = (text: string, before: string[] | undefined): string[] => [...(before ?? []), text];

export function addContextOptions(command: Command): Command {
  return command
    .option(
      "--context <key=value>",
      "context for the model beside the prompt, as instructions; repeatable",
      gather,
    )
    .option("--context-file <key=path>", "the same, the value read from a file", gather)
    .option(
      "--untrusted <key=value>",
      "the same, as text from elsewhere that the model must not obey",
      gather,
    );
}

/** Reads the complete set of the options, including files; empty without any. Throws `usage_invalid`. */
export function readAdditionalContext(
  cli: Pick<Cli, "cwd">,
  options: ContextOptions,
): { additionalContext?: AdditionalContext } {
  const entries = [
    ...(options.context ?? []).map((text) => entryOf("--context", text, "application")),
    ...(options.contextFile ?? []).map((text) => fileEntry(cli.cwd, text)),
    ...(options.untrusted ?? []).map((text) => entryOf("--untrusted", text, "untrusted")),
  ];
  const keys = new Set<string>();
  for (const [key] of entries) {
    if (keys.has(key)) throw usageError(`The context key "${key}" occurs twice; use each key once.`);
    keys.add(key);
  }
  return entries.length === 0 ? {} : { additionalContext: Object.fromEntries(entries) };
}

function entryOf(
  option: string,
  text: string,
  kind: AdditionalContextEntry["kind"],
): [string, AdditionalContextEntry] {
  const at = text.indexOf("=");
  if (at < 1) throw usageError(`${option} "${text.slice(0, 80)}" has no key; write it as key=value.`);
  return [text.slice(0, at), { value: text.slice(at + 1), kind }];
}

function fileEntry(cwd: string, text: string): [string, AdditionalContextEntry] {
  const [key, { value: path, kind }] = entryOf("--context-file", text, "application");
  try {
    return [key, { value: readFileSync(resolve(cwd, path), "utf8"), kind }];
  } catch {
    throw usageError(`The file "${path}" for the context key "${key}" cannot be read; name a readable file.`);
  }
}
