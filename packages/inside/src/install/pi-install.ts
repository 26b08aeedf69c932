/** pi: the extension is a folder among the user's, which it loads without an entry in any file of the user. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { findProgram } from "@pagurus/core/platform/executables";
import { adapterFiles } from "./adapter-files.ts";
import { insideSocket } from "./inside-place.ts";
import { filesIn, json, MARK } from "./own-folder.ts";
import type { ProgramInstall } from "./program-install.ts";

export const PI: ProgramInstall = {
  id: "pi",
  label: "pi",
  abilities: {
    assemble: false,
    compaction: { manual: "answered", automatic: "answered", ahead: false, subagents: false },
    results: "stub, exact text by one call",
    recall: "a message that is stored",
    usage: false,
    cache: false,
  },
  find({ env }) {
    const { file } = findProgram("pi", { env });
    const own = env["PI_CODING_AGENT_DIR"];
    const folder = own ? own : join(env["HOME"] ?? "", ".pi", "agent");
    return file === undefined && !existsSync(folder) ? undefined : { folder };
  },
  changes({ home, wake, version }, folder) {
    const root = join(folder, "extensions", "pagurus");
    const file = filesIn(root, { manifest: "package.json", id: "pi" });
    const about = {
      name: "pagurus-inside-pi",
      version,
      private: true,
      type: "module",
      keywords: [MARK],
      pi: { extensions: ["./pi/index.js"] },
    };
    return [
      file("package.json", json(about), "names the extension"),
      file("place.json", json({ socket: insideSocket(home), wake }), "where the host listens"),
      ...[...adapterFiles(["pi", "client", "node"])].map(([name, text]) => file(name, text, "the extension")),
    ];
  },
};
