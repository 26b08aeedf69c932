import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  readArguments,
  toml,
  withSettings,
} from "../../../packages/runtimes/src/codex/wire/codex-wrap-arguments.ts";

describe("the user's own arguments of Codex", () => {
  it("name the model, and its endpoint", () => {
    const read = readArguments(
      [
        "-m",
        "one",
        "exec",
        "--config=model_provider=mock",
        "-c",
        "a=1",
        "-cb=2",
        "--model=two",
        "-C",
        "sub",
        "Hello",
      ],
      "/project",
    );
    assert.deepEqual(read, {
      settings: ["model_provider=mock", "a=1", "b=2"],
      model: "two",
      cwd: "/project/sub",
    });
    assert.equal(readArguments(["-p", "fast"], "/project").profile, "fast");
  });

  it("are text after two dashes, or as a value", () => {
    assert.deepEqual(readArguments(["exec", "--", "-m", "two"], "/project"), {
      settings: [],
      cwd: "/project",
    });
    assert.deepEqual(readArguments(["-m", "login", "mcp is broken"], "/project").model, "login");
    assert.deepEqual(readArguments(["resume", "--last", "logout"], "/project").settings, []);
  });

  it("are refused without a conversation, or with a provider that a setting cannot replace", () => {
    for (const args of [
      ["login"],
      ["mcp", "list"],
      ["-m", "x", "app-server"],
      ["cloud"],
      ["--oss"],
      ["--remote", "ws://x"],
    ])
      assert.throws(() => readArguments(args, "/project"), { code: "usage_invalid" }, args.join(" "));
    for (const args of [[], ["fix the login"], ["exec", "x"], ["e", "x"], ["resume"], ["fork"], ["review"]])
      assert.doesNotThrow(() => readArguments(args, "/project"), args.join(" "));
  });

  it("get ours after them, and before two dashes", () => {
    assert.deepEqual(withSettings(["exec", "hi"], { a: "1" }), ["exec", "hi", "-c", "a=1"]);
    assert.deepEqual(withSettings(["exec", "--", "-c"], { a: "1" }), ["exec", "-c", "a=1", "--", "-c"]);
  });

  it("carry values as TOML", () => {
    assert.equal(toml('a "quoted"\nline\u007f'), '"a \\"quoted\\"\\nline\\u007f"');
    assert.equal(
      toml({ "x-a": "b", on: true, n: 3, none: null, list: ["a", 1], in: { k: "v" } }),
      '{"x-a" = "b", "on" = true, "n" = 3, "list" = ["a", 1], "in" = {"k" = "v"}}',
    );
  });
});
