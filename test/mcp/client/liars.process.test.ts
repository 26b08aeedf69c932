import assert from "node:assert/strict";
import { createServer } from "node:http";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { suite, test } from "node:test";
import type { McpServerConfig } from "../../../packages/core/src/config/config-types.ts";
import { hosted, liar, textOf } from "./hosted.ts";
import { longTest } from "../../runner/long-tests.ts";
import { until } from "../../runner/until.ts";

function listing(...tools: object[]): McpServerConfig {
  return liar("tools", JSON.stringify(tools));
}

const schema = { type: "object" };

suite("MCP servers that lie", { concurrency: 4 }, () => {
  longTest(
    "one that stops reading during its start fails at the timeout",
    { timeout: 120_000 },
    async (t) => {
      const host = hosted(t, { s: liar("deaf", "", { connectTimeoutMs: 1_000 }) });
      const { problems } = await host.offer();
      assert.match(problems.join(), /^The MCP server "s" .*; its tools are missing\.$/);
      await host.noneLeft();
      await host.servers.close();
    },
  );

  longTest("unrequested and duplicate answers change nothing", async (t) => {
    const host = hosted(t, { deep: liar("deep"), twice: liar("twice") });
    await host.offer();
    assert.equal(textOf(await host.call("deep__echo")), "fine");
    assert.equal(textOf(await host.call("twice__echo")), "first");
    assert.equal(textOf(await host.call("twice__echo")), "first");
  });

  longTest("a flood of unrequested answers ends it", async (t) => {
    const host = hosted(t, { s: liar("unasked", "", { timeoutMs: 120_000 }) });
    await host.offer();
    assert.match(textOf(await host.call("s__echo")), /"s" wrote more than 16 MiB of unrequested messages/);
  });

  test("a result of the wrong types is read as far as it can be, and partial lines are joined", async (t) => {
    const host = hosted(t, { types: liar("types"), mixed: liar("mixed"), crumbs: liar("crumbs") });
    await host.offer();
    const wrong = await host.call("types__echo");
    assert.deepEqual([wrong.isError, textOf(wrong)], [false, "a text"]);
    assert.equal(
      textOf(await host.call("mixed__echo")),
      'good\n[a part of the type "hologram" left out]\n[image of 0 bytes (image/png) left out: it cannot be shown to the model]',
    );
    assert.ok((await host.call("crumbs__echo")).content.length <= 100);
  });

  test("bad elements, null for absent fields and a loose envelope cost the server nothing else", async (t) => {
    const host = hosted(t, { s: liar("loose") });
    const { tools, problems } = await host.offer();
    assert.deepEqual(
      tools.map(({ name }) => name),
      ["s__echo", "s__second"],
    );
    assert.deepEqual(problems, [
      'The MCP server "s" is offered without some of its parts: the schema of the tool "bad" is missing.',
    ]);
    assert.equal(textOf(await host.call("s__echo")), "fine");
    assert.match(textOf(await host.call("s__second")), /answered with an error: an error without a text/);
  });

  test("progress keeps a call alive up to longestCallMs, and no longer", async (t) => {
    const host = hosted(t, { s: liar("progress", "", { timeoutMs: 1_500, longestCallMs: 2_500 }) });
    await host.offer();
    assert.match(
      textOf(await host.call("s__echo")),
      /did not answer within 2\.5 s, although it reported progress\. It is unknown/,
    );
    assert.deepEqual(host.servers.known().problems, []);
  });

  longTest("one without ping support continues after a call times out", async (t) => {
    const host = hosted(t, { s: liar("noping", "", { timeoutMs: 300 }) });
    await host.offer();
    const [before] = host.left();
    assert.match(textOf(await host.call("s__echo")), /did not answer in time/);
    assert.deepEqual(host.left(), [before]);
    assert.deepEqual(host.servers.known().problems, []);
  });

  longTest("one that reports tool changes all the time is still listed again", async (t) => {
    const host = hosted(t, { s: liar("restless") });
    await host.offer();
    await until(() => host.servers.known().tools[0]?.name === "s__new");
  });

  test("endless pages are cut off and reported, and a loop of pages is read once", async (t) => {
    const host = hosted(t, { loop: liar("loop"), pages: liar("pages") });
    const { tools, problems } = await host.offer();
    assert.equal(tools.filter(({ name }) => name.startsWith("loop__")).length, 1);
    assert.equal(tools.filter(({ name }) => name.startsWith("pages__")).length, 20);
    assert.equal(problems.length, 2, problems.join("\n"));
    assert.match(
      problems.join("\n"),
      /"pages" is offered without some of its parts: it lists its tools on more than 20 pages/,
    );
  });

  test("thousands of omissions are reported in a few sentences, also to the next host", async (t) => {
    const servers = {
      s: listing(...Array.from({ length: 2_000 }, () => ({ name: "twin", inputSchema: schema }))),
    };
    const host = hosted(t, servers);
    const { tools, problems } = await host.offer();
    assert.equal(tools.length, 1);
    assert.ok(problems.length > 0 && problems.length < 10, String(problems.length));
    assert.deepEqual((await host.again().offer()).problems, problems);
  });

  longTest("a tool that takes the name of another is left out, and the others stay", async (t) => {
    const spy = hosted(t, { s: listing({ name: "a/b", inputSchema: schema }) });
    const [taken] = (await spy.offer()).tools;
    const own = taken?.name.replace(/^s__/, "") ?? "";
    const host = spy.again({
      s: listing(
        { name: own, inputSchema: schema },
        { name: "a/b", inputSchema: schema },
        { name: "c", inputSchema: schema },
      ),
    });
    const names = (await host.offer()).tools.map(({ name }) => name);
    assert.equal(new Set(names).size, names.length, names.join());
    assert.ok(names.includes("s__c"));
  });

  longTest("an old list is refreshed in the background of a turn, also for a connected server", async (t) => {
    const host = hosted(t, { s: liar("count") });
    await host.offer();
    const now = Date.now();
    const clock = t.mock.method(Date, "now", () => now + 25 * 3_600_000);
    assert.equal((await host.offer()).tools[0]?.name, "s__listed1");
    clock.mock.restore();
    await until(() => host.servers.known().tools[0]?.name === "s__listed2");
  });

  longTest("an aborted turn reports no server as late", async (t) => {
    const host = hosted(t, { s: liar("deaf", "", { connectTimeoutMs: 1_000 }) });
    const stop = new AbortController();
    const offer = host.servers.forTurn(stop.signal);
    stop.abort();
    assert.deepEqual((await offer).problems, []);
  });

  test("a start that fails after the last caller stopped waiting does not end the process", async (t) => {
    const host = hosted(t, { s: liar("words") });
    const gone = AbortSignal.abort();
    assert.deepEqual((await host.servers.forTurn(gone)).tools, []);
    await until(() => host.servers.known().problems.length === 1);
    await assert.rejects(host.servers.test("s", gone));
  });

  longTest("a call whose server does not start has had no effect", async (t) => {
    const servers = { s: liar("", "", { env: { DIES: "${DIES:-no}" } }) };
    const host = hosted(t, servers);
    await host.offer();
    process.env["DIES"] = "yes";
    const later = host.again();
    delete process.env["DIES"];
    assert.equal(textOf(await later.call("s__echo")), 'The MCP server "s" ended with code 1.');
  });

  longTest("close waits for a server that is already being ended", async (t) => {
    const host = hosted(t, { s: liar("unasked") });
    await host.offer();
    await host.call("s__echo");
    assert.equal(host.servers.list()[0]?.state, "failed");
    await host.servers.close();
    assert.deepEqual(host.left(), []);
  });

  test("parts of a secret, its lines and its escaped forms are removed from sentences", async (t) => {
    const secret = 'very-"secret"\\token-of-forty-characters!!';
    const env = { SECRET: secret };
    const noise = "n".repeat(270);
    const host = hosted(t, {
      cut: liar("words", `${"x".repeat(50)}SECRET${noise}`, { env }),
      lines: liar("words", "before SECRET after", { env: { SECRET: "two\nlines-of-secret" } }),
      header: { url: "http://127.0.0.1:9/", headers: { Authorization: "Bearer bad\nsecret-value" } },
      login: { url: "http://user:pass-word-1@127.0.0.1:9/mcp" },
    });
    const { problems } = await host.offer();
    assert.equal(problems.length, 4);
    assert.doesNotMatch(problems.join("\n"), /characters|lines-of-secret|secret-value|pass-word-1/);
  });

  test("the token of a header is a secret also without its scheme", async (t) => {
    const server = createServer((request, response) => {
      void text(request).then((body) => {
        const { id } = JSON.parse(body || "{}") as { id?: number };
        const sent = String(request.headers.authorization).replace("Bearer ", "");
        response.writeHead(200, { "content-type": "application/json" });
        response.end(
          JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32000, message: `no such key: ${sent}` } }),
        );
      });
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    t.after(() => {
      server.closeAllConnections();
      server.close();
    });
    const { port } = server.address() as { port: number };
    const url = `http://127.0.0.1:${port}/mcp`;
    const host = hosted(t, {
      web: { url, headers: { Authorization: "Bearer written-out" }, connectTimeoutMs: 2_000 },
    });
    const { problems } = await host.offer();
    assert.equal(problems.length, 1);
    assert.match(problems.join(), /no such key: \[secret\]/);
  });
});
