/** Writes each hook into the file that HOOK_LOG names, adds a line to the instructions, and has a slash command and a tool. */
import { appendFileSync } from "node:fs";

const WATCHED = [
  "session_start",
  "user_prompt",
  "before_tool_call",
  "after_tool_call",
  "before_compaction",
  "after_compaction",
];

export default function register(api) {
  const log = (name) => appendFileSync(process.env.HOOK_LOG, `${name}\n`);
  for (const name of WATCHED)
    api.on(name, () => {
      log(name);
      return undefined;
    });
  api.on("before_prompt_build", () => {
    log("before_prompt_build");
    return { appendSystemContext: "The hook says: mind the fog." };
  });
}
