import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { createPagurus } from "../../src/app.ts";
import type { ProgramWrap, WrappedProgram, WrapRequest, WrapRoute } from "../../src/contract/wrap.ts";
import { wire, type WireOptions } from "../../src/cli/wire.ts";
import { execute } from "../../src/cli/program.ts";
import { fakeCli, type FakeCli } from "./fake-cli.ts";

/** What the played program does, as a script of Node. */
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
          provider: { id: "anthropic", baseUrl: "http://127.0.0.1:9/v1" },
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
  ): Promise<number> => wire(cli, words, options, () => Promise.resolve([played(program)]));

  it("ends with the program's exit code, or a shell's for a signal, and says nothing where nobody looks", async () => {
    assert.equal(await run({ does: "process.exit(7)" }), 7);
    assert.equal(await run({ does: "process.kill(process.pid, 'SIGKILL')" }), 137);
    assert.equal(cli.err(), "");
    assert.deepEqual(surveyed[0]?.args, ["-p", "Hello."]);
    assert.equal(surveyed[0].folder, join(root, "home", "runtimes", "claude"));
  });

  it("says at the end where the conversation is, to a person", async () => {
    cli.stderr.isTTY = true;
    assert.equal(await run({ does: "" }, { session: "work" }), 0);
    assert.equal(cli.err(), "session work: 0 turns, 0 requests; see pagurus sessions show work\n");
  });

  it("gives the program a way through the gateway that is open while it runs", async () => {
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

  it("leaves the context to the program where the engine governs nothing", async () => {
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

  it("refuses a subscription, and lets it pass with --observe", async () => {
    const refusal = { kind: "login" as const, reason: "It is logged in by subscription." };
    const program = { does: "process.exit(3)", more: { refusal } };
    await assert.rejects(run(program), { code: "runtime_unsupported", message: refusal.reason });
    assert.equal(await run(program, { observe: true }), 3);
    await assert.rejects(
      run({ does: "", more: { refusal: { ...refusal, kind: "place" } } }, { observe: true }),
      {
        code: "runtime_unsupported",
      },
    );
  });

  it("refuses a model whose key is missing before the program starts", async () => {
    await assert.rejects(run({ does: "" }, { model: "google/gemini-3.8-flash" }), {
      code: "credential_missing",
    });
    assert.deepEqual(routes, []);
  });

  it("names what it knows for any other program", async () => {
    await assert.rejects(run({ does: "" }, {}, ["vim"]), {
      code: "usage_invalid",
      message: 'The program "vim" is not known; pagurus wire wraps claude, as in: pagurus wire -- codex.',
    });
    await assert.rejects(run({ does: "" }, {}, []), { code: "usage_invalid" });
    assert.equal(await run({ does: "" }, {}, ["/some/where/claude.exe"]), 0);
  });

  it("is a command with help that says what is done without a key", async () => {
    assert.equal(await execute(["wire", "--help"], cli), 0);
    assert.match(cli.out(), /pagurus wire \[options\] -- <program> \[arguments\.\.\.\]/);
    assert.match(cli.out(), /they are extracts/);
  });
});
