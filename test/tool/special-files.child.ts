/** Runs the steps of a host's tools and wraps in a folder: `special-files.child.ts <folder> <home>`. Prints each step that ended. */
import { join } from "node:path";
import { opencodeWrap } from "../../packages/gateway/src/programs/opencode.ts";
import { qwenWrap } from "../../packages/gateway/src/programs/qwen.ts";
import { readUserSettings } from "../../packages/runtimes/src/claude/claude-wrap-settings.ts";
import { createToolSet } from "../../packages/host/src/tool/toolset.ts";
import { textOf } from "./fixture.ts";

const [cwd = "", home = ""] = process.argv.slice(2);
const env = { HOME: home, PATH: `${join(home, "bin")}:${process.env["PATH"] ?? ""}` };
const set = createToolSet({
  cwd,
  permission: { mode: "auto", sandbox: "off" },
  context: { sessionKey: "main", sessionId: "s1" },
  home: join(home, ".pagurus"),
  env,
});
let calls = 0;
for (const [name, args] of [
  ["read", { path: "package.json" }],
  ["edit", { path: "package.json", oldText: "a", newText: "b" }],
  ["write", { path: "package.json", content: "{}" }],
  ["glob", { pattern: "**/*" }],
  ["search", { pattern: "word" }],
  ["shell", { command: "echo out", timeout: 20 }],
] as const) {
  const call = { type: "toolCall", id: `c${++calls}`, name, arguments: args } as const;
  const text = textOf(await set.call(call, new AbortController().signal));
  console.log(`${name}: ${text.slice(0, 200).replaceAll("\n", " ")}`);
}
for (const wrap of [qwenWrap, opencodeWrap])
  for (const folderTrusted of [false, true]) {
    const request = { command: wrap.id, args: [], env, cwd, folder: join(home, "run"), folderTrusted };
    const { withheld } = await wrap.survey(request);
    console.log(`${wrap.id} ${folderTrusted ? "trusted" : "not trusted"}: ${withheld?.length ?? 0} withheld`);
  }
const { withheld } = readUserSettings({ args: ["-p", "x"], env, cwd });
console.log(`claude: ${withheld.length} withheld`);
