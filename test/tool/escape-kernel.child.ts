/** Runs `perl tries.pl` as a command of the shell tool, in the session of its parent: `escape-kernel.child.ts <workspace>`. */
import { createToolSet } from "../../packages/host/src/tool/toolset.ts";
import { textOf } from "./fixture.ts";

const [cwd = ""] = process.argv.slice(2);
const set = createToolSet({
  cwd,
  permission: { mode: "auto", sandbox: "require" },
  context: { sessionKey: "main", sessionId: "s1" },
});
const args = { command: "perl tries.pl", timeout: 60 };
const call = { type: "toolCall", id: "c1", name: "shell", arguments: args } as const;
console.log(textOf(await set.call(call, new AbortController().signal)));
