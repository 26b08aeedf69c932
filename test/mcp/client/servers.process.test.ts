import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { McpServerConfig } from "../../../packages/core/src/config/config-types.ts";
import { child, hosted, textOf } from "./hosted.ts";
import { longTest } from "../../runner/long-tests.ts";
import { until } from "../../runner/until.ts";

// Most of the time they wait.
suite("MCP servers of the user", { concurrency: 4 }, () => {
  test("what other programs' keys turn off is off here", async (t) => {
    const offered = async (more: McpServerConfig): Promise<string[]> => {
      const host = hosted(t, { s: child("good", more) });
      return (await host.offer()).tools.map(({ name }) => name);
    };
    const all = await offered({});
    for (const key of ["excludeTools", "disabled_tools", "disabledTools"])
      assert.deepEqual(
        await offered({ [key]: ["echo"] }),
        all.filter((name) => name !== "s__echo"),
      );
    for (const key of ["includeTools", "enabled_tools"])
      assert.deepEqual(await offered({ [key]: ["echo"] }), ["s__echo"]);
    assert.deepEqual(await offered({ includeTools: ["echo"], excludeTools: ["echo"] }), []);
  });

  test("nothing starts before a turn, and its tools come in a stable order", async (t) => {
    const host = hosted(t, { beta: child("shuffled"), alpha: child("good") });
    assert.deepEqual(host.left(), []);
    assert.deepEqual(host.servers.known().tools, []);
    const offer = await host.offer();
    assert.deepEqual(offer.problems, []);
    const names = offer.tools.map(({ name }) => name);
    assert.equal(names[0], "alpha__big");
    assert.deepEqual(names, names.toSorted());
    assert.equal(names.length, 20);
    assert.deepEqual(offer.tools[0]?.parameters, { type: "object", properties: {} });
    assert.equal(offer.tools[0]?.source, 'the MCP server "alpha"');
    await host.servers.close();
    await host.noneLeft();
  });

  test("a tool answers with text, images, resources and structured content", async (t) => {
    const host = hosted(t, { s: child("good") });
    await host.offer();
    assert.equal(textOf(await host.call("s__echo", { text: "é" })), 'echo {"text":"é"}');
    const image = await host.call("s__image");
    assert.equal(image.content[0]?.type, "image");
    assert.match(textOf(image), /\[image of 3 bytes \(image\/png\) left out/);
    const resource = textOf(await host.call("s__resource"));
    assert.match(resource, /<resource uri="note:\/\/1" type="text\/plain">\na note\n<\/resource>/);
    assert.match(resource, /"answer": 42/);
  });

  longTest("a cached list is offered at once, and the server starts when a tool is called", async (t) => {
    const host = hosted(t, { s: child("good") });
    const first = await host.offer();
    await host.servers.close();
    await host.noneLeft();
    const later = host.again();
    const offer = await later.offer();
    assert.deepEqual(
      offer.tools.map(({ name, description, parameters }) => ({ name, description, parameters })),
      first.tools.map(({ name, description, parameters }) => ({ name, description, parameters })),
    );
    assert.deepEqual(later.left(), []);
    assert.match(textOf(await later.call("s__echo")), /^echo/);
    assert.equal(later.left().length, 1);
  });

  longTest("changed settings of a server do not use the list cached before", async (t) => {
    const host = hosted(t, { s: child("good") });
    await host.offer();
    await host.servers.close();
    assert.deepEqual(host.again({ s: child("garbage") }).servers.known().tools, []);
  });

  longTest("a server that never answers costs the timeout, and no process is left", async (t) => {
    const host = hosted(
      t,
      { good: child("good"), mute: child("mute", { connectTimeoutMs: 3_600_000 }) },
      { waitMs: 3_000 },
    );
    const offer = await host.offer();
    assert.equal(offer.tools.length, 10);
    assert.deepEqual(offer.problems, [
      'The MCP server "mute" is not ready after 3 s; this turn continues without its tools while it starts.',
    ]);
    assert.equal(host.left().length, 3);
    await host.servers.close();
    await host.noneLeft();
  });

  longTest("a server that is not ready at the timeout fails, and is ended with its children", async (t) => {
    const host = hosted(t, { mute: child("mute", { connectTimeoutMs: 400 }) });
    const offer = await host.offer();
    assert.deepEqual(offer.problems, [
      'The MCP server "mute" did not get ready within 0.4 s; its tools are missing.',
    ]);
    await host.noneLeft();
  });

  test("a server that exits at once is reported with its last output, without secrets", async (t) => {
    const host = hosted(t, { dead: child("dead", { env: { LICENCE: "KEY-12345" } }) });
    const { problems } = await host.offer();
    assert.deepEqual(problems, [
      'The MCP server "dead" ended with code 2; its last output was: no licence found for [secret]; its tools are missing.',
    ]);
  });

  test("a program or a variable that does not exist is named", async (t) => {
    const host = hosted(t, {
      none: { command: "/nonexistent/program" },
      open: child("good", { env: { KEY: "${NOT_SET_AT_ALL}" } }),
      web: { url: "http://127.0.0.1:9/mcp" },
    });
    const { problems, tools } = await host.offer();
    assert.deepEqual(tools, []);
    assert.match(
      problems[0] ?? "",
      /"none" could not be started: there is no such program or folder; its tools are missing\.$/,
    );
    assert.match(
      problems[1] ?? "",
      /"open" cannot be used: its "env.KEY" refers to the environment variable NOT_SET_AT_ALL, which is not set/,
    );
    assert.match(problems[2] ?? "", /"web" cannot be reached: /);
  });

  test("lines on standard output that are not MCP are skipped", async (t) => {
    const host = hosted(t, { s: child("garbage") });
    assert.deepEqual((await host.offer()).problems, []);
    assert.match(textOf(await host.call("s__echo")), /^echo/);
  });

  longTest("a line without end and an unrequested flood end the server", async (t) => {
    const host = hosted(t, { endless: child("endless"), spam: child("spam") });
    await host.offer();
    await until(() => host.servers.known().problems.length === 2);
    const [endless, spam] = host.servers.known().problems;
    assert.equal(
      endless,
      'The MCP server "endless" wrote a line of more than 32 MiB; its tools are missing.',
    );
    assert.match(
      spam ?? "",
      /"spam" wrote more than 16 MiB of unrequested messages to its standard output; its tools are offered, and a call of one tries again\.$/,
    );
    await host.noneLeft();
  });

  longTest("a result of megabytes is cut, and its head and tail stay", async (t) => {
    const host = hosted(t, { s: child("good") });
    await host.offer();
    const text = textOf(await host.call("s__big"));
    assert.ok(text.length < 101_000);
    assert.match(text, /^headx+\n\[… 4900008 characters left out …\]\nx+tail$/);
  });

  longTest("a crash fails the open call, and the next one starts the server again", async (t) => {
    const host = hosted(t, { s: child("good") });
    await host.offer();
    const crashed = await host.call("s__crash");
    assert.equal(crashed.isError, true);
    assert.equal(
      textOf(crashed),
      'The MCP server "s" ended with code 3; its last output was: out of cheese. It is unknown whether the call had an effect.',
    );
    assert.equal(host.servers.known().tools.length, 10);
    assert.match(
      host.servers.known().problems[0] ?? "",
      /its tools are offered, and a call of one tries again/,
    );
    assert.match(textOf(await host.call("s__echo")), /it is tried again in 1 s\.$/);
    await until(async () => (await host.call("s__echo")).isError === false);
    assert.deepEqual(host.servers.known().problems, []);
  });

  longTest("a call without an answer ends at its timeout; a server that hangs is restarted", async (t) => {
    const host = hosted(t, { s: child("good", { timeoutMs: 1_000 }) });
    await host.offer();
    const hung = await host.call("s__hang");
    assert.match(
      textOf(hung),
      /^The MCP server "s" did not answer in time\. It is unknown whether the call had an effect\.$/,
    );
    const [before] = host.left();
    assert.match(textOf(await host.call("s__echo")), /^echo/);
    assert.deepEqual(host.left(), [before]);
    assert.equal((await host.call("s__block")).isError, true);
    await until(async () => (await host.call("s__echo")).isError === false);
    assert.notDeepEqual(host.left(), [before]);
  });

  longTest("progress notifications keep a long call alive", async (t) => {
    const host = hosted(t, { s: child("good", { timeoutMs: 1_000 }) });
    await host.offer();
    assert.equal(textOf(await host.call("s__slow")), "slow but sure");
  });

  longTest("an abort ends the call at once, and the server continues", async (t) => {
    const host = hosted(t, { s: child("good") });
    await host.offer();
    const stop = new AbortController();
    const hung = host.call("s__hang", {}, stop.signal);
    setTimeout(() => stop.abort(), 100);
    await assert.rejects(hung);
    assert.match(textOf(await host.call("s__echo")), /^echo/);
  });

  test("tools that change during a session are offered at the next look", async (t) => {
    const host = hosted(t, { s: child("good") });
    const before = await host.offer();
    assert.equal(textOf(await host.call("s__change")), "changed");
    assert.equal(before.tools.length, 10);
    await until(() => host.servers.known().tools.length === 2);
    assert.deepEqual(
      (await host.offer()).tools.map(({ name }) => name),
      ["s__echo", "s__fresh"],
    );
    assert.equal(textOf(await host.call("s__fresh")), "fresh");
  });

  test("the configuration selects tools, skips permission prompts, and disables servers", async (t) => {
    const host = hosted(t, {
      a: child("good", { tools: { allow: ["e*", "image"], deny: ["env"] }, permission: "allow" }),
      b: child("good", { enabled: false }),
    });
    const offer = await host.offer();
    assert.deepEqual(
      offer.tools.map(({ name }) => name),
      ["a__echo", "a__image"],
    );
    assert.deepEqual(offer.allow, [{ tool: "a__echo" }, { tool: "a__image" }]);
    assert.equal(host.left().length, 1);
    assert.deepEqual(
      host.servers.list().map(({ name, enabled, state }) => ({ name, enabled, state })),
      [
        { name: "a", enabled: true, state: "connected" },
        { name: "b", enabled: false, state: "idle" },
      ],
    );
  });

  test("a server sees its configured variables and no others", async (t) => {
    const host = hosted(t, {
      s: child("good", { env: { GIVEN: "${TOKEN}!", ELSE: "${NOT_SET_AT_ALL:-nothing}" } }),
    });
    await host.offer();
    assert.equal(textOf(await host.call("s__env", { name: "GIVEN" })), "GIVEN=tok-abcdef!");
    assert.equal(textOf(await host.call("s__env", { name: "ELSE" })), "ELSE=nothing");
    assert.equal(textOf(await host.call("s__env", { name: "TOKEN" })), "TOKEN=(none)");
  });

  test("test starts a server and throws one sentence for an unusable one", async (t) => {
    const host = hosted(t, { dead: child("dead"), s: child("good") });
    const signal = AbortSignal.timeout(60_000);
    assert.equal((await host.servers.test("s", signal)).tools?.length, 10);
    await assert.rejects(host.servers.test("dead", signal), {
      code: "mcp_failed",
      message:
        'The MCP server "dead" ended with code 2; its last output was: no licence found for KEY-12345.',
    });
    await assert.rejects(host.servers.test("other", signal), {
      code: "usage_invalid",
      message:
        'There is no MCP server "other": those configured are dead, s; mcp.servers in the configuration holds them.',
    });
  });
});
