/** Turns on real agents: what the transcript says of their models, calls and permissions. */
import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { after, before, describe, it } from "node:test";
import { createPagurus } from "../../../packages/app/src/app.ts";
import type { TurnEvent } from "../../../packages/contract/src/host/events.ts";
import { NOT_REPORTED } from "../../../packages/runtimes/src/acp/acp-tool-calls.ts";
import { startServer, type ModelServer, type RecordedRequest } from "../../servers/server.ts";
import { AGENT_CASES, type AgentCase } from "./programs-table.ts";

const APIS = {
  google: "google-generative-ai",
  "anthropic-messages": "anthropic-messages",
  "openai-completions": "openai-completions",
  "openai-responses": "openai-responses",
} as const;

/** Side calls, such as for a title, have at most a few tools; Google's protocol has them in groups. */
function isMain({ body }: RecordedRequest): boolean {
  const groups = (body["tools"] ?? []) as { functionDeclarations?: unknown[] }[];
  return groups.flatMap(({ functionDeclarations }) => functionDeclarations ?? [{}]).length > 3;
}

class ProgramBench {
  readonly root = mkdtempSync(join(tmpdir(), "pagurus-acp-programs-"));
  readonly #case: AgentCase;
  readonly #server: ModelServer;

  private constructor(agent: AgentCase, server: ModelServer) {
    this.#case = agent;
    this.#server = server;
    for (const name of ["work", "user"]) mkdirSync(join(this.root, name));
  }

  /** The model writes `file` with its shell when the newest turn's prompt asks for it, then answers. */
  static async with(agent: AgentCase): Promise<ProgramBench> {
    const called = new Set<string>();
    const server = await startServer({
      protocol: agent.protocol,
      models: [agent.model],
      script: (request) => {
        const file = /Write (\w+)\.txt/.exec(request.text)?.[1] ?? "";
        if (!isMain(request) || called.has(file)) return { text: "All done." };
        called.add(file);
        return {
          toolCalls: [{ id: `call_${file}`, ...agent.call(`echo harbour > ${file}.txt; cat ${file}.txt`) }],
        };
      },
    });
    return new ProgramBench(agent, server);
  }

  /** Models of the conversation's requests; Google's protocol has them in the address. */
  get models(): string[] {
    const mains = this.#server.requests.filter(isMain);
    return [
      ...new Set(mains.flatMap(({ body }) => (typeof body["model"] === "string" ? [body["model"]] : []))),
    ];
  }

  file(name: string): string {
    return join(this.root, "work", name);
  }

  async turn(prompt: string, permission: string): Promise<TurnEvent[]> {
    const { id, model, protocol, program, setUp, ownModel } = this.#case;
    const { url } = this.#server;
    const home = join(this.root, "user");
    const command = program();
    const path = [dirname(process.execPath), dirname(command), process.env["PATH"]].join(delimiter);
    const own = ownModel === undefined ? {} : { model: ownModel };
    const ref = `local/${model}`;
    const models = [{ id: model, contextWindow: 200_000, maxTokens: 4_000 }];
    const host = await createPagurus({
      home: join(this.root, `home-${permission}`),
      env: {
        PATH: path,
        HOME: home,
        PAGURUS_NO_PROBE: "1",
      },
      config: {
        session: { scope: "main" },
        models: { providers: { local: { api: APIS[protocol], baseUrl: url, apiKey: "test-key", models } } },
        agents: {
          defaults: {
            model: ref,
            permission: { mode: permission },
            models: { [ref]: { agentRuntime: { id: "acp", agentId: id } } },
          },
        },
        plugins: {
          entries: {
            // The programs of the tests are in the folder that they start in, where none is looked for unless the user names it.
            acp: {
              config: {
                agents: { [id]: { command, ...own, env: { PATH: path, ...setUp?.({ home, url }) } } },
              },
            },
          },
        },
        logging: { level: "silent" },
      },
    });
    try {
      const events: TurnEvent[] = [];
      for await (const event of host.run({ prompt, cwd: join(this.root, "work") })) events.push(event);
      return events;
    } finally {
      await host.close();
    }
  }

  async end(): Promise<void> {
    await this.#server.close();
    rmSync(this.root, { recursive: true, force: true, maxRetries: 3 });
  }
}

function degraded(events: readonly TurnEvent[]): string[] {
  return events.flatMap((event) => (event.type === "context.degraded" ? [event.stage] : []));
}

/** Models of the recorded answers, each once. */
function modelsOf(events: readonly TurnEvent[]): string[] {
  const models = events.flatMap((event) =>
    event.type === "message" && event.message.role === "assistant"
      ? [`${event.message.provider}/${event.message.model}`]
      : [],
  );
  return [...new Set(models)];
}

function results(events: readonly TurnEvent[]): { text: string; isError: boolean }[] {
  return events.flatMap((event) => {
    if (event.type !== "message" || event.message.role !== "toolResult") return [];
    const { content, isError } = event.message;
    return [
      { text: content.map((part) => (part.type === "text" ? part.text : part.type)).join(""), isError },
    ];
  });
}

for (const agent of AGENT_CASES) {
  describe(`the agent ${agent.id}`, { timeout: 240_000 }, () => {
    let bench: ProgramBench;
    before(async () => {
      bench = await ProgramBench.with(agent);
    });
    after(() => bench.end());

    it("runs the asked model, and its results are recorded as far as it reports them", async () => {
      const events = await bench.turn("Write one.txt, please.", "auto");
      assert.equal(events.at(-1)?.type, "turn.completed", JSON.stringify(events.at(-1)));
      assert.deepEqual(modelsOf(events), [`local/${agent.ownModel ?? agent.model}`]);
      assert.deepEqual(bench.models, agent.protocol === "google" ? [] : [agent.model]);
      const [result, ...others] = results(events);
      assert.deepEqual(others, []);
      assert.equal(result?.isError, false);
      if (agent.reports) assert.match(result.text, /harbour/);
      else assert.equal(result.text, NOT_REPORTED);
      assert.ok(existsSync(bench.file("one.txt")));
      assert.equal(
        events.some(({ type }) => type === "usage"),
        agent.counts,
        "whether its tokens are reported",
      );
      assert.deepEqual(degraded(events), agent.takesTools ? [] : ["tools"]);
    });

    it("answers the next turn in a new process, with the same model", async () => {
      const before = bench.models;
      const events = await bench.turn("And now?", "auto");
      assert.equal(events.at(-1)?.type, "turn.completed", JSON.stringify(events.at(-1)));
      assert.deepEqual(modelsOf(events), [`local/${agent.ownModel ?? agent.model}`]);
      assert.deepEqual(bench.models, before);
      assert.deepEqual(degraded(events), agent.takesTools ? [] : ["tools"]);
    });

    it("does nothing that the permission mode does not allow, and the denied call is recorded as denied", async () => {
      const events = await bench.turn("Write two.txt, please.", "read-only");
      assert.ok(!existsSync(bench.file("two.txt")));
      const last = events.at(-1);
      if (!agent.asks) {
        assert.ok(last?.type === "turn.failed");
        assert.equal(last.error.code, "runtime_unsupported");
        return;
      }
      assert.equal(last?.type, "turn.completed", JSON.stringify(last));
      const [result, ...others] = results(events);
      assert.deepEqual(others, []);
      assert.equal(result?.isError, true);
      assert.match(result.text, /read-only/);
    });
  });
}
