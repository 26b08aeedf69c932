/** Which program `pagurus wire` wraps: a known one, a plugin's, or one that its user describes. */
import { basename } from "node:path";
import { BUNDLED_PROGRAMS, isBundledProgram } from "@pagurus/core/config/bundled";
import type { WireApi } from "@pagurus/contract/harness/wire";
import type { ProgramDescription, ProgramWrap } from "@pagurus/contract/harness/wrap";
import { nearest } from "@pagurus/core/platform/nearest";
import { withPagurus, type Cli } from "../cli.ts";
import { usageError } from "../cli-failure.ts";

/** Options that describe a program. */
export interface DescribeOptions {
  api?: string;
  baseUrlEnv?: string;
  keyEnv?: string;
  upstream?: string;
  arg?: string[];
}

/** Loads the wrap of a program by its name; undefined if it is not known. `described` makes the wrap of one that its user describes. */
export interface WrapSource {
  known(name: string): Promise<ProgramWrap | undefined>;
  described(command: string, description: ProgramDescription): Promise<ProgramWrap>;
}

/** The names of `--api`. */
const APIS: Readonly<Record<string, WireApi>> = {
  responses: "openai-responses",
  messages: "anthropic-messages",
  completions: "openai-completions",
  gemini: "google-generative-ai",
};

export function wrapSource(cli: Cli): WrapSource {
  return {
    known: async (name) => {
      if (isBundledProgram(name)) return (await import("@pagurus/app/bundled")).loadProgramWrap(name);
      // Plugins are only loaded for a name that is not ours.
      return withPagurus(cli, (pagurus) =>
        Promise.resolve(pagurus.plugins.programs().find(({ id }) => id === name)),
      );
    },
    described: async (command, description) =>
      (await import("@pagurus/app/bundled")).describeProgram(command, description),
  };
}

/** Throws `usage_invalid` for a program that is neither known nor described. */
export async function chosenWrap(
  command: string,
  options: DescribeOptions & { print?: boolean },
  source: WrapSource,
): Promise<ProgramWrap> {
  const { api: named, arg: args = [], baseUrlEnv, keyEnv, upstream } = options;
  if (named !== undefined) {
    const api = Object.hasOwn(APIS, named) ? APIS[named] : undefined;
    if (api === undefined) throw usageError(`There is no API "${named}"; --api takes ${apiNames()}.`);
    if (command === "" && options.print !== true)
      throw usageError("No program is named; add it after --, or --print to set up a program by hand.");
    return source.described(command, { api, baseUrlEnv, keyEnv, upstream, args });
  }
  const given = {
    "--base-url-env": baseUrlEnv,
    "--key-env": keyEnv,
    "--upstream": upstream,
    "--arg": args[0],
  };
  const [lone] = Object.entries(given).find(([, value]) => value !== undefined) ?? [];
  if (lone !== undefined) throw usageError(`${lone} describes a program, so it needs --api, too.`);
  if (command === "") throw usageError(`No program is named; ${advice()}`);
  const name = basename(command).replace(/\.(?:exe|cmd|js)$/i, "");
  const wrap = await source.known(name);
  if (wrap) return wrap;
  const [near] = nearest(name, BUNDLED_PROGRAMS);
  const meant = near === undefined ? "" : ` Did you mean "${near}"?`;
  throw usageError(`The program "${command}" is not known; ${advice()}${meant}`);
}

function apiNames(): string {
  return Object.keys(APIS).join(", ");
}

function advice(): string {
  return `pagurus wire knows ${BUNDLED_PROGRAMS.join(", ")}, and any other by its protocol: pagurus wire --api ${Object.keys(APIS).join("|")} -- <program>.`;
}
