/** Claude Code: the mod is a plugin in the folder of the user's skills, which it loads without an entry in any file of the user. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { PagurusError } from "@pagurus/contract/errors";
import { attempt } from "@pagurus/core/data/attempt";
import { listOf, parseRecord } from "@pagurus/core/data/record-fields";
import { findProgram } from "@pagurus/core/platform/executables";
import { adapterFiles } from "./adapter-files.ts";
import { insideSocket } from "./inside-place.ts";
import type { FileChange, ProgramInstall } from "./program-install.ts";

/** Keyword by which our folder is known. */
const MARK = "pagurus-inside";

const README = `# pagurus

The engine of Pagurus inside Claude Code: it answers compactions without a model request and keeps every message word for word, keeps
large tool results and shows a part of them, and finds what is out of sight again. \`/pagurus\` searches and opens what was left out.

\`pagurus install\` writes this folder, and \`pagurus uninstall claude-code\` removes it.
`;

function json(value: object): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}

export const CLAUDE_CODE: ProgramInstall = {
  id: "claude-code",
  label: "Claude Code",
  find({ env }) {
    const { file } = findProgram("claude", { env });
    const own = env["CLAUDE_CONFIG_DIR"];
    const folder = own ? own : join(env["HOME"] ?? "", ".claude");
    // The desktop program has the same folder, and is not on the path.
    return file === undefined && !existsSync(folder) ? undefined : { folder };
  },
  changes({ home, wake, version }, folder) {
    const root = join(folder, "skills", "pagurus");
    const manifest = join(root, ".claude-plugin", "plugin.json");
    const found = attempt(() => parseRecord(readFileSync(manifest, "utf8")));
    if (existsSync(root) && !listOf(found?.["keywords"]).includes(MARK))
      throw new PagurusError(
        "usage_invalid",
        `${root} exists and is not of Pagurus; rename it, and run pagurus install claude-code again.`,
      );
    const about = {
      name: "pagurus",
      version,
      description:
        "Compactions without a model request that lose no word; /pagurus finds what is out of sight.",
      author: { name: "Pagurus" },
      keywords: [MARK],
      license: "MIT",
    };
    const file = (name: string, text: string, what: string): FileChange => ({
      path: join(root, name),
      text,
      about: what,
    });
    return [
      file(".claude-plugin/plugin.json", json(about), "the plugin's manifest"),
      file("README.md", README, "its description"),
      file("place.json", json({ socket: insideSocket(home), wake }), "where the host listens"),
      file("hooks/hooks.json", json({ modules: ["./claude-code/register.js"] }), "names the mod"),
      ...[...adapterFiles(["claude-code", "client"])].map(([name, text]) =>
        file(`hooks/${name}`, text, "the mod"),
      ),
    ];
  },
};
