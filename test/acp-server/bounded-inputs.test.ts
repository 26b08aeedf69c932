/** What an ACP client may name for a session, and images as clients write them. */
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { afterEach, describe, it } from "node:test";
import { methods } from "@agentclientprotocol/sdk";
import { readPrompt } from "../../packages/acp-server/src/prompt-request.ts";
import type { Bench } from "../turn/in-process.ts";
import { benchWith, Editor } from "./acp-bench.ts";

const server = (name: string, text: string): { name: string; command: string; args: string[]; env: [] } => ({
  name,
  command: "/bin/true",
  args: [text],
  env: [],
});

describe("MCP servers that an editor names", () => {
  let bench: Bench;
  let editor: Editor;
  afterEach(async () => {
    await editor.leave();
    await bench.end();
  });

  it("are refused before a session is made when they are too many, or one is too long", async () => {
    bench = await benchWith([]);
    editor = await Editor.on(bench);
    const ask = (mcpServers: object[]): Promise<unknown> =>
      editor.agent.request(methods.agent.session.new, { cwd: bench.root, mcpServers: mcpServers as never[] });
    const many = Array.from({ length: 65 }, (_, at) => server(`s${at}`, "a"));
    const sessions = (): number =>
      readdirSync(bench.root, { recursive: true }).filter((path) => String(path).endsWith(".jsonl")).length;
    const before = sessions();
    for (const [servers, problem] of [
      [many, /65 MCP servers are more than 64; name fewer/],
      [[server("long", "a".repeat(2 ** 17))], /"long" has 131\d+ characters, more than 131072/],
      [
        [
          {
            type: "http",
            name: "a",
            url: "http://127.0.0.1:1/",
            headers: [{ name: "a", value: "b".repeat(2 ** 18) }],
          },
        ],
        /characters/,
      ],
    ] as const)
      await assert.rejects(ask([...servers]), (error: { code: number; message: string }) => {
        assert.equal(error.code, -32602);
        assert.match(error.message, problem);
        return true;
      });
    assert.equal(sessions(), before);
    await editor.session(bench.root);
    assert.equal(sessions(), before + 1);
  });
});

describe("an image of an editor", () => {
  const dataOf = (data: string): string => {
    const [part] = readPrompt([{ type: "image", data, mimeType: "image/png" }]).parts;
    return part?.type === "image" ? part.data : "";
  };

  it("may come in lines, and is passed on in one", () => {
    const data = Buffer.from("an image of some bytes").toString("base64");
    const lines = data.replaceAll(/.{4}/g, "$&\r\n");
    assert.equal(dataOf(data), data);
    assert.equal(dataOf(lines), data);
    assert.equal(dataOf(` ${data}\n`), data);
  });

  it("is refused where it is not in base64", () => {
    for (const data of ["", " \n", "a$b", "YQ==YQ==", "YQ=== ", `${" ".repeat(2 ** 21)}!`])
      assert.throws(() => dataOf(data), { code: "attachment_invalid" }, JSON.stringify(data.slice(0, 20)));
  });
});
