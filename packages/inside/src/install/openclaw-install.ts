/** OpenClaw: the plugin is a folder among the user's, and OpenClaw's configuration names it as the context engine. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { findProgram } from "@pagurus/core/platform/executables";
import { attempt } from "@pagurus/core/data/attempt";
import { parseJson5 } from "@pagurus/core/config/json5";
import { valueAt, type KeyPath } from "@pagurus/core/config/key-path";
import { unsetInText } from "@pagurus/core/config/revision";
import { setInText } from "@pagurus/core/config/text-splice";
import { adapterFiles } from "./adapter-files.ts";
import { insideSocket } from "./inside-place.ts";
import { filesIn, json, MARK } from "./own-folder.ts";
import type { ProgramInstall } from "./program-install.ts";

const ID = "pagurus";
const TOOLS = ["pagurus_open", "pagurus_search"];
const SLOT: KeyPath = ["plugins", "slots", "contextEngine"];
const ENTRY: KeyPath = ["plugins", "entries", ID];

function configFile(folder: string, env: Readonly<Record<string, string | undefined>>): string {
  const own = env["OPENCLAW_CONFIG_PATH"];
  return own ? own : join(folder, "openclaw.json");
}

function withEngine(text: string, file: string): string {
  return setInText(setInText(text, file, SLOT, ID), file, ENTRY, { enabled: true });
}

export const OPENCLAW: ProgramInstall = {
  id: "openclaw",
  label: "OpenClaw",
  abilities: {
    assemble: "the engine's, from OpenClaw's messages",
    compaction: {
      manual: "answered",
      automatic: "answered (not tried)",
      ahead: false,
      subagents: "answered (not tried)",
    },
    results: "stub from the next turn on, exact text by one call",
    recall: "a part of each request, not stored",
    usage: false,
    cache: false,
  },
  find({ env }) {
    const { file } = findProgram("openclaw", { env });
    const own = env["OPENCLAW_STATE_DIR"];
    const folder = own ? own : join(env["HOME"] ?? "", ".openclaw");
    return file === undefined && !existsSync(folder) ? undefined : { folder };
  },
  changes({ home, wake, version, env }, folder) {
    const root = join(folder, "extensions", ID);
    const file = filesIn(root, { manifest: "package.json", id: "openclaw" });
    const about = {
      name: "pagurus-inside-openclaw",
      version,
      private: true,
      type: "module",
      keywords: [MARK],
      openclaw: { extensions: ["./openclaw/index.js"] },
    };
    const manifest = {
      id: ID,
      kind: "context-engine",
      contracts: { tools: TOOLS },
      configSchema: { type: "object", additionalProperties: false, properties: {} },
    };
    const config = configFile(folder, env);
    const text = existsSync(config) ? readFileSync(config, "utf8") : "{}\n";
    return [
      file("package.json", json(about), "names the plugin"),
      file("openclaw.plugin.json", json(manifest), "its description for OpenClaw"),
      file("place.json", json({ socket: insideSocket(home), wake }), "where the host listens"),
      ...[...adapterFiles(["openclaw", "client", "node"])].map(([name, js]) => file(name, js, "the plugin")),
      { path: config, text: withEngine(text, config), about: "chooses the plugin as the context engine" },
    ];
  },
  /** The configuration without the plugin, in the form that it has now. */
  withdraw(path, text) {
    const config = attempt(() => parseJson5(text, path));
    if (valueAt(config, SLOT) !== ID && valueAt(config, ENTRY) === undefined) return undefined;
    const rest = valueAt(config, SLOT) === ID ? unsetInText(text, path, SLOT) : text;
    return unsetInText(rest ?? text, path, ENTRY) ?? rest;
  },
};
