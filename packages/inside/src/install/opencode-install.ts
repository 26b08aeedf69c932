/** OpenCode: the plugin is a file among the user's, which loads a folder beside it; no file of the user changes. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { findProgram } from "@pagurus/core/platform/executables";
import { adapterFiles } from "./adapter-files.ts";
import { insideSocket } from "./inside-place.ts";
import { filesIn, json, MARK } from "./own-folder.ts";
import type { ProgramInstall } from "./program-install.ts";

export const OPENCODE: ProgramInstall = {
  id: "opencode",
  label: "OpenCode",
  abilities: {
    assemble: false,
    compaction: {
      manual: "summary replaced; a request of a few words stays",
      automatic: "summary replaced; a request of a few words stays",
      ahead: false,
      subagents: "as the others (not tried)",
    },
    results: "stub, exact text in pages",
    recall: "a part of each request, not stored",
    usage: false,
    cache: false,
  },
  find({ env }) {
    const { file } = findProgram("opencode", { env });
    const base = env["XDG_CONFIG_HOME"];
    const folder = join(base ? base : join(env["HOME"] ?? "", ".config"), "opencode");
    return file === undefined && !existsSync(folder) ? undefined : { folder };
  },
  changes({ home, wake, version }, folder) {
    const root = join(folder, "plugins", "pagurus");
    const file = filesIn(root, { manifest: "package.json", id: "opencode" });
    const about = {
      name: "pagurus-inside-opencode",
      version,
      private: true,
      type: "module",
      keywords: [MARK],
    };
    return [
      file("package.json", json(about), "its description"),
      file("place.json", json({ socket: insideSocket(home), wake }), "where the host listens"),
      ...[...adapterFiles(["opencode", "client", "node"])].map(([name, text]) =>
        file(name, text, "the plugin"),
      ),
      // OpenCode loads the files of this folder, and not those of folders in it.
      file("../pagurus.js", 'export { Pagurus } from "./pagurus/opencode/index.js";\n', "names the plugin"),
    ];
  },
};
