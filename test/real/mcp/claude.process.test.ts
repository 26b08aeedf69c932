/** The reference server and one that misbehaves, used by a model in the real Claude Code. */
import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import { child } from "../../mcp/client/hosted.ts";
import { ClaudeBench } from "../claude/claude-bench.ts";
import { realProgram } from "../programs.ts";
import { texts } from "./outcomes.ts";

const PROGRAM = realProgram("@modelcontextprotocol/server-everything", "mcp-server-everything");
/** The name by which Claude Code calls tools of Pagurus's server. */
const PREFIX = "mcp__pagurus__";

describe("MCP servers in turns of the real Claude Code", () => {
  let bench: ClaudeBench | undefined;
  afterEach(() => bench?.end());

  it("a model uses the server's tools, and reads a sentence about one that crashes", async () => {
    bench = await ClaudeBench.with((_request, index) =>
      index === 0
        ? {
            toolCalls: [
              { id: "toolu_1", name: `${PREFIX}everything__echo`, arguments: { message: "harbour" } },
            ],
          }
        : index === 1
          ? { toolCalls: [{ id: "toolu_2", name: `${PREFIX}s__crash`, arguments: {} }] }
          : { text: "Done." },
    );
    const everything = { command: process.execPath, args: [PROGRAM, "stdio"] };
    const servers = { everything, s: child("good") };
    const pagurus = await bench.host({ more: { config: { ...bench.config(), mcp: { servers } } } });
    const events = await bench.ask(pagurus, "Use the tools.");
    const [echo, crashed] = texts(events);
    assert.equal(echo, "Echo: harbour");
    assert.match(crashed ?? "", /The MCP server "s" ended with code 3; its last output was: out of cheese\./);
    const last = JSON.stringify(bench.request(2).body["messages"]);
    assert.match(last, /Echo: harbour/);
    assert.match(last, /out of cheese/);
  });
});
