/** Claude Code: the mod is a plugin in the folder of the user's skills, which it loads without an entry in any file of the user. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { findProgram } from "@pagurus/core/platform/executables";
import { adapterFiles } from "./adapter-files.ts";
import { insideSocket } from "./inside-place.ts";
import { filesIn, json, MARK } from "./own-folder.ts";
import type { ProgramInstall } from "./program-install.ts";

const README = `# pagurus

The engine of Pagurus inside Claude Code: it answers compactions without a model request and keeps every message word for word, keeps
large tool results and shows a part of them, and finds what is out of sight again. \`/pagurus\` searches and opens what was left out.

\`pagurus install\` writes this folder, and \`pagurus uninstall claude-code\` removes it.
`;

export const CLAUDE_CODE: ProgramInstall = {
  id: "claude-code",
  label: "Claude Code",
  abilities: {
    assemble: false,
    compaction: {
      manual: "answered",
      automatic: "answered",
      ahead: "answered",
      subagents: "answered (not tried)",
    },
    results: "stub, exact text by one call",
    recall: "context of the prompt",
    usage: false,
    cache: false,
  },
  find({ env }) {
    const { file } = findProgram("claude", { env });
    const own = env["CLAUDE_CONFIG_DIR"];
    const folder = own ? own : join(env["HOME"] ?? "", ".claude");
    // The desktop program has the same folder, and is not on the path.
    return file === undefined && !existsSync(folder) ? undefined : { folder };
  },
  changes({ home, wake, version }, folder) {
    const root = join(folder, "skills", "pagurus");
    const manifest = ".claude-plugin/plugin.json";
    const file = filesIn(root, { manifest, id: "claude-code" });
    const about = {
      name: "pagurus",
      version,
      description:
        "Compactions without a model request that lose no word; /pagurus finds what is out of sight.",
      author: { name: "Pagurus" },
      keywords: [MARK],
      license: "MIT",
    };
    return [
      file(manifest, json(about), "the plugin's manifest"),
      file("README.md", README, "its description"),
      file("place.json", json({ socket: insideSocket(home), wake }), "where the host listens"),
      file("hooks/hooks.json", json({ modules: ["./claude-code/register.js"] }), "names the mod"),
      ...[...adapterFiles(["claude-code", "client"])].map(([name, text]) =>
        file(`hooks/${name}`, text, "the mod"),
      ),
    ];
  },
};
