import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { createPagurus } from "../../packages/app/src/app.ts";
import type {
  ProgramWrap,
  WrappedProgram,
  WrapRequest,
  WrapRoute,
} from "../../packages/contract/src/harness/wrap.ts";
import { describedWrap } from "../../packages/gateway/src/programs/described-program.ts";
import { wire, type WireOptions } from "../../packages/cli/src/wire/wire-work.ts";
import { execute } from "../../packages/cli/src/cli-program.ts";
import { fakeCli, type FakeCli } from "./fake-cli.ts";
import { longTest } from "../runner/long-tests.ts";

/** The played program, as a Node script. */
interface Played {
  does: string;
  more?: Partial<WrappedProgram>;
}

describe("pagurus wire", () => {
  let root: string;
  let cli: FakeCli;
  let surveyed: WrapRequest[];
  let routes: WrapRoute[];

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), "pagurus-wire-"));
    const env = { PAGURUS_HOME: join(root, "home"), PATH: process.env["PATH"], PAGURUS_NO_PROBE: "1" };
    cli = { ...fakeCli({ env, open: createPagurus }), cwd: root };
    surveyed = [];
    routes = [];
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  function played({ does, more }: Played): ProgramWrap {
    return {
      id: "claude",
      label: "Claude Code",
      api: "anthropic-messages",
      survey: (request) => {
        surveyed.push(request);
        return Promise.resolve({
          provider: { id: "anthropic", baseUrl: "http://127.0.0.1:9/v1", from: "user" },
          cwd: request.cwd,
          models: [],
          launch: (route) => {
            routes.push(route);
            return Promise.resolve({ command: process.execPath, args: ["-e", does], env: request.env });
          },
          ...more,
        });
      },
    };
  }

  const run = (
    program: Played,
    options: WireOptions = {},
    words = ["claude", "-p", "Hello."],
  ): Promise<number> =>
    wire(cli, words, options, {
      known: (name) => Promise.resolve(name === "claude" ? played(program) : undefined),
      described: (command, description) => Promise.resolve(describedWrap(command, description)),
    });

  longTest(
    "ends with the program's exit code, or a shell's for a signal, and prints nothing without a terminal",
    async () => {
      assert.equal(await run({ does: "process.exit(7)" }), 7);
      assert.equal(await run({ does: "process.kill(process.pid, 'SIGKILL')" }), 137);
      assert.equal(cli.err(), "");
      assert.deepEqual(surveyed[0]?.args, ["-p", "Hello."]);
      assert.equal(surveyed[0].folder, join(root, "home", "runtimes", "claude"));
    },
  );

  it("prints at the end where the conversation is, on a terminal", async () => {
    cli.stderr.isTTY = true;
    assert.equal(await run({ does: "" }, { session: "work" }), 0);
    const [before, after] = cli.err().split("\n");
    assert.match(before ?? "", /session work: new/);
    assert.equal(after, "session work: 0 turns, 0 requests; see pagurus sessions show work");
  });

  it("gives the program a gateway route that is open while it runs", async () => {
    const script = `fetch(process.env.ROUTE).then(({status}) => process.exit(status === 401 ? 0 : 1), () => process.exit(2))`;
    let address = "";
    const launch = (route: WrapRoute): ReturnType<WrappedProgram["launch"]> => {
      address = route.baseUrl;
      const env = { ...process.env, ROUTE: `${route.baseUrl}/v1/models` };
      return Promise.resolve({ command: process.execPath, args: ["-e", script], env });
    };
    assert.equal(await run({ does: "", more: { launch } }), 0, "it is refused without the token");
    await assert.rejects(fetch(address), "and gone behind the program");
  });

  it("removes what was made for the run", async () => {
    const file = join(root, "for-this-run");
    writeFileSync(file, "");
    const launch: WrappedProgram["launch"] = () =>
      Promise.resolve({ command: process.execPath, args: ["-e", ""], env: {}, files: [file] });
    assert.equal(await run({ does: "", more: { launch } }), 0);
    assert.throws(() => writeFileSync(file, "", { flag: "r+" }));
  });

  it("fails where the program cannot be started", async () => {
    const launch: WrappedProgram["launch"] = () =>
      Promise.resolve({ command: join(root, "nothing"), args: [], env: {} });
    await assert.rejects(run({ does: "", more: { launch } }), { code: "runtime_failed" });
  });

  longTest("leaves the context to the program where the engine governs nothing", async () => {
    await run({ does: "" });
    await run({ does: "" }, { engine: "legacy" });
    await run({ does: "" }, { observe: true });
    assert.deepEqual(
      routes.map(({ governs, tools }) => [governs, tools?.name]),
      [
        [true, "pagurus"],
        [false, undefined],
        [false, undefined],
      ],
      "and offers the engine's tools where it governs",
    );
    assert.equal(cli.options.length, 2, "without a host where requests are observed");
  });

  it("an unknown engine and an invalid key are refused before the program starts (finding A11)", async () => {
    await assert.rejects(run({ does: "" }, { engine: "losless" }), {
      code: "engine_unknown",
      message: /"losless" is not registered.* one of: .*\. Did you mean "lossless"\?$/,
    });
    await assert.rejects(run({ does: "" }, { session: "a b" }), {
      code: "session_key_invalid",
      message: /without spaces\. Did you mean "a-b"\?$/,
    });
    await assert.rejects(run({ does: "" }, { continue: "none" }), { code: "session_not_found" });
    assert.equal(routes.length, 0);
  });

  it("each start begins a conversation of the folder, beside those that are followed (finding A1)", async () => {
    cli.stderr.isTTY = true;
    const inner: string[] = [];
    const launch: WrappedProgram["launch"] = async () => {
      if (inner.length === 0) {
        inner.push("second");
        await run({ does: "" });
        await assert.rejects(run({ does: "" }, { session: basename(root) }), { code: "session_locked" });
      }
      return { command: process.execPath, args: ["-e", ""], env: {} };
    };
    await run({ does: "", more: { launch } });
    const begun = [...cli.err().matchAll(/session (\S+): new/g)].map(([, key]) => key);
    assert.deepEqual(begun, [basename(root), `${basename(root)}-2`]);
  });

  it("refuses a subscription, and lets it pass with --observe", async () => {
    const refusal = { kind: "login" as const, reason: "It is logged in by subscription." };
    const program = { does: "process.exit(3)", more: { refusal } };
    mkdirSync(join(root, "home"), { recursive: true });
    writeFileSync(join(root, "home", "pagurus.json"), `{ wire: { loginHosts: ["127.0.0.1:9"] } }`);
    await assert.rejects(run(program), { code: "runtime_unsupported", message: refusal.reason });
    assert.equal(await run(program, { observe: true }), 3);
    await assert.rejects(
      run({ does: "", more: { refusal: { ...refusal, kind: "place" } } }, { observe: true }),
      {
        code: "runtime_unsupported",
      },
    );
  });

  longTest(
    "a login passes where the user allows it, on the command line or in the configuration",
    async () => {
      const refusal = { kind: "login" as const, reason: "It is logged in by subscription." };
      const program = { does: "process.exit(4)", more: { refusal } };
      const configured = (wire: string): void =>
        writeFileSync(join(root, "home", "pagurus.json"), `{ wire: { ${wire}loginHosts: ["127.0.0.1:9"] } }`);
      mkdirSync(join(root, "home"), { recursive: true });
      configured("");
      assert.equal(await run(program, { login: true }), 4);
      assert.equal(routes[0]?.governs, true, "and is governed");
      configured("ownLogin: true, ");
      assert.equal(await run(program), 4);
      const account = {
        does: "process.exit(5)",
        more: { refusal: { ...refusal, kind: "account" as const } },
      };
      await assert.rejects(run(account, { login: true }), { code: "runtime_unsupported" });
      await assert.rejects(run(account, { observe: true }), { code: "runtime_unsupported" });
      Object.assign(cli, { env: { ...cli.env, ANTHROPIC_API_KEY: "key" } });
      assert.equal(
        await run(account, { model: "anthropic/claude-sonnet-4-6" }),
        5,
        "a model of ours answers",
      );
      const place = { does: "", more: { refusal: { ...refusal, kind: "place" as const } } };
      await assert.rejects(run(place, { login: true }), { code: "runtime_unsupported" });
    },
  );

  it("any program is pointed to the gateway by its variables, with its provider at the value they had", async () => {
    const script = join(root, "agent.mjs");
    writeFileSync(
      script,
      `#!${process.execPath}\nconst { LLM_URL } = process.env;\nfetch(LLM_URL + "/chat/completions", { method: "POST", body: "{}" }).then(({ status }) => process.exit(status === 502 && LLM_URL.includes("/t/") ? 0 : 1));\n`,
      { mode: 0o755 },
    );
    const env = { ...cli.env, LLM_URL: "http://127.0.0.1:9/v1" };
    Object.assign(cli, { env });
    assert.equal(await run({ does: "" }, { api: "completions", baseUrlEnv: "LLM_URL" }, [script]), 0);
    await assert.rejects(run({ does: "" }, { api: "completions", baseUrlEnv: "LLM_URL" }, ["none-such"]), {
      code: "runtime_failed",
      message: /"none-such" was not found/,
    });
  });

  it("a description that cannot work is refused before the start", async () => {
    const refused = (options: WireOptions, message: RegExp, words = ["vim"]): Promise<void> =>
      assert.rejects(run({ does: "" }, options, words), { code: "usage_invalid", message });
    await refused({ api: "soap" }, /There is no API "soap"; --api takes responses, messages, completions/);
    await refused({ baseUrlEnv: "X" }, /--base-url-env describes a program, so it needs --api, too/);
    await refused({ api: "messages" }, /No program is named/, []);
    await refused({ api: "messages", upstream: "localhost" }, /"localhost" in --upstream is no http/, [
      process.execPath,
    ]);
    assert.equal(cli.options.length, 0, "no host was opened");
  });

  it("refuses a model whose key is missing before the program starts", async () => {
    await assert.rejects(run({ does: "" }, { model: "google/gemini-3.8-flash" }), {
      code: "credential_missing",
    });
    assert.deepEqual(routes, []);
  });

  it("names the supported programs for any other program", async () => {
    await assert.rejects(run({ does: "" }, {}, ["vim"]), {
      code: "usage_invalid",
      message:
        /^The program "vim" is not known; pagurus wire knows codex, claude, .*, and any other by its protocol: /,
    });
    await assert.rejects(run({ does: "" }, {}, []), { code: "usage_invalid" });
    assert.equal(await run({ does: "" }, {}, ["/some/where/claude.exe"]), 0);
  });

  it("is a command with help that explains the behaviour without a key", async () => {
    assert.equal(await execute(["wire", "--help"], cli), 0);
    assert.match(cli.out(), /pagurus wire \[options\] -- <program> \[arguments\.\.\.\]/);
    assert.match(cli.out(), /they are extracts/);
  });
});
