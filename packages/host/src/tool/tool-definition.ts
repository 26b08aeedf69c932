/**
 * Definition of a plugin's or server's tool, as the person saw it who answered "always". A remembered rule holds its hash, so that
 * the answer does not cover a tool that was changed afterwards.
 */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { JsonSchema } from "@pagurus/contract/harness/tool";
import type { PermissionRule } from "@pagurus/core/config/config-types";
import { isRecord } from "@pagurus/core/data/record-fields";
import { ensurePrivateDir, writeFileAtomic } from "@pagurus/core/platform/atomic-files";
import { editPreview } from "./files/change-preview.ts";
import { canonicalJson } from "@pagurus/core/data/canonical-json";

export interface ToolDefinition {
  /** The owner, for example `the MCP server "calc"`; absent for a plugin. */
  source?: string | undefined;
  description: string;
  parameters: JsonSchema;
}

/** Characters of a description in the summary of a question. */
const QUOTED_CHARACTERS = 200;

/** Independent of the order of keys, which some servers change at each list. */
export function definitionHash({ source, description, parameters }: ToolDefinition): string {
  const text = canonicalJson([source ?? null, description, parameters]);
  return createHash("sha256").update(text).digest("hex");
}

/** Whether an allow rule covers this definition. A rule without a hash was written by hand and covers every definition. */
export function coversDefinition(rule: PermissionRule, definition: ToolDefinition | undefined): boolean {
  if (rule.definition === undefined) return true;
  return definition !== undefined && rule.definition === definitionHash(definition);
}

/** Definitions that were allowed, under `cache/tools` of the home, so that a question can show what has changed. */
export class AllowedDefinitions {
  readonly #folder: string;

  constructor(home: string) {
    this.#folder = join(home, "cache", "tools");
  }

  /** Never throws: without the file a later question shows the new definition alone. */
  keep(definition: ToolDefinition): void {
    try {
      ensurePrivateDir(this.#folder);
      writeFileAtomic(this.#file(definitionHash(definition)), JSON.stringify(definition), { synced: false });
    } catch {
      return;
    }
  }

  /** Undefined where the file is missing or its content has another hash. */
  find(hash: string): ToolDefinition | undefined {
    if (!/^[0-9a-f]{64}$/.test(hash)) return undefined;
    try {
      const { source, description, parameters } = recordIn(readFileSync(this.#file(hash), "utf8"));
      if (typeof description !== "string" || !isRecord(parameters)) return undefined;
      const found = {
        ...(typeof source === "string" ? { source } : {}),
        description,
        parameters,
      };
      return definitionHash(found) === hash ? found : undefined;
    } catch {
      // The cache was cleared, or the rule came with a configuration of another machine.
      return undefined;
    }
  }

  #file(hash: string): string {
    return join(this.#folder, `${hash}.json`);
  }
}

function recordIn(text: string): Record<string, unknown> {
  const value: unknown = JSON.parse(text);
  return isRecord(value) ? value : {};
}

/** What a question shows of a tool that is no longer the one that was allowed. */
export interface DefinitionChange {
  /** End of the summary's sentence. */
  summary: string;
  /** Small diffs of description and arguments. */
  preview: string;
}

function quoted(text: string): string {
  const line = text.replaceAll(/\s+/g, " ").trim();
  const cut = line.length > QUOTED_CHARACTERS ? `${line.slice(0, QUOTED_CHARACTERS).toWellFormed()}…` : line;
  return JSON.stringify(cut);
}

function lines(parameters: JsonSchema): string {
  return JSON.stringify(JSON.parse(canonicalJson(parameters)), null, 2);
}

/** `before` is absent where the allowed definition is not kept. */
export function definitionChange(before: ToolDefinition | undefined, now: ToolDefinition): DefinitionChange {
  const lead = "changed since it was always allowed";
  if (!before) {
    return {
      summary: `${lead}; its description is now ${quoted(now.description)}`,
      preview: `The allowed definition is not kept. It is now:\n${now.description}\n${lines(now.parameters)}`,
    };
  }
  const described = before.description !== now.description;
  const accepts = canonicalJson(before.parameters) !== canonicalJson(now.parameters);
  const changes = [
    ...(before.source === now.source
      ? []
      : [`it was a tool of ${before.source ?? "a plugin"} and is one of ${now.source ?? "a plugin"}`]),
    ...(described
      ? [`its description was ${quoted(before.description)} and is ${quoted(now.description)}`]
      : []),
    ...(accepts ? ["it takes other arguments"] : []),
  ];
  const diffs = [
    ...(described
      ? [
          "Its description:",
          editPreview({ oldText: before.description, newText: now.description, all: false }),
        ]
      : []),
    ...(accepts
      ? [
          "Its arguments:",
          editPreview({ oldText: lines(before.parameters), newText: lines(now.parameters), all: false }),
        ]
      : []),
  ];
  return { summary: `${lead}: ${changes.join("; ")}`, preview: diffs.join("\n") };
}
