import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";

/** Modules of MCP support and of the protocol's library that are loaded at the end of a host's turn. */
function loaded(config: string): string[] {
  const script = `
    import { registerHooks } from "node:module";
    const seen = [];
    registerHooks({ resolve(specifier, context, next) {
      const found = next(specifier, context);
      const name = /\\/src\\/(mcp\\/.*)|(@modelcontextprotocol)/.exec(found.url);
      if (name) seen.push(name[1] ?? name[2]);
      return found;
    } });
    const { Bench } = await import("./test/turn/in-process.ts");
    const { modelConfig } = await import("./test/turn/setting.ts");
    const bench = await Bench.with(() => ({ text: "Answer." }));
    const config = modelConfig("openai-completions", bench.server.url, {}, ${config});
    const pagurus = await bench.host({ more: { config } });
    await bench.ask(pagurus, "One?");
    await pagurus.context.preview({ prompt: "Hm?" });
    await pagurus.status();
    await pagurus.reload();
    await bench.end();
    console.log(JSON.stringify(seen));`;
  const output = execFileSync(process.execPath, ["--input-type=module", "-e", script], {
    cwd: new URL("../..", import.meta.url),
    encoding: "utf8",
  });
  return JSON.parse(output) as string[];
}

test("a turn without servers loads no MCP module, and one with disabled servers does not load the library", () => {
  assert.deepEqual(loaded("{}"), []);
  const off = loaded('{ mcp: { servers: { s: { command: "x", enabled: false } } } }');
  assert.ok(off.includes("mcp/client/mcp-servers.ts"));
  assert.ok(!off.includes("@modelcontextprotocol"));
  assert.ok(!off.some((name) => name.includes("/serve/")));
});
