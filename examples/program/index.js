/**
 * A harness: turns of the host that an external program executes. The program (agent.js, or another one that speaks
 * the same lines) owns the loop; this file starts it with what the engine assembled, makes its tool calls in the
 * host, and hands every message of it to the host's transcript.
 */
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const AGENT = fileURLToPath(new URL("agent.js", import.meta.url));
const NO_USAGE = { input: 0, output: 0, totalTokens: 0 };
/** How long a program may take to end after it was asked to, ms. */
const END_MS = 2_000;

export default function register(api) {
  const [command, ...args] = api.pluginConfig?.command ?? [process.execPath, AGENT];
  const running = new Set();

  /** Where a model is served; the agent speaks one protocol. */
  function endpointOf(model) {
    const { baseUrl, apiKey } = api.config.models?.providers?.[model.provider] ?? {};
    return model.api === "openai-completions" && baseUrl ? { baseUrl, apiKey, model: model.id } : undefined;
  }

  api.registerAgentHarness({
    id: "example-program",
    label: "Example program",
    contract: "pagurus.harness/1",
    execution: { kind: "child-process", detail: "agent.js" },
    // Each turn the program gets the whole conversation as messages, and goes on with that by itself.
    seam: "thread",
    capabilities: [
      "bootstrap",
      "assemble-before-prompt",
      "after-turn",
      "maintain",
      "compact",
      "runtime-llm-complete",
      "thread-bootstrap-projection",
    ],
    surfaces: {
      modelLoop: "The program: retries, tool calls and the final answer are its own.",
      threadHistory: "The host's transcript: the program is told all of it in each turn.",
      hostTools: "Yes, all of them.",
      hostToolHooks: "Yes, as in embedded.",
      nativeToolHooks: "It has no tools of its own.",
      compactionData: "None: it compacts nothing by itself.",
      unsupported: [],
    },
    supports(model) {
      if (endpointOf(model)) return { supported: true };
      return {
        supported: false,
        reason: `The example program needs a provider with baseUrl and the API openai-completions; ${model.provider} has ${model.api}.`,
      };
    },
    async runTurn(turn) {
      let overflow;
      for (;;) {
        const context = await turn.assemble(overflow && { overflow });
        if (turn.signal.aborted) return { stopReason: "aborted", usage: NO_USAGE };
        const program = new Program(
          spawn(command, args, { cwd: turn.cwd, stdio: ["pipe", "pipe", "inherit"] }),
        );
        running.add(program);
        try {
          return await new ProgramTurn(turn, program).run(context, endpointOf(turn.model));
        } catch (error) {
          if (error.code !== "context_overflow") throw error;
          // The host compacts, and the program starts again with what is left.
          overflow = { message: error.message };
        } finally {
          await program.end();
          running.delete(program);
        }
      }
    },
    async dispose() {
      await Promise.all([...running].map((program) => program.end()));
    },
  });
}

/** A child process that writes and reads one JSON value a line. */
class Program {
  constructor(child) {
    this.child = child;
    this.ended = new Promise((resolve) => {
      child.once("error", resolve);
      child.once("close", resolve);
    });
    child.stdin.on("error", () => undefined);
    this.lines = createInterface({ input: child.stdout });
  }

  send(value) {
    this.child.stdin.write(`${JSON.stringify(value)}\n`);
  }

  async end() {
    this.child.stdin.end();
    this.child.kill();
    const timer = setTimeout(() => this.child.kill("SIGKILL"), END_MS);
    await this.ended;
    clearTimeout(timer);
  }
}

class ProgramTurn {
  #text = "";
  #usage = NO_USAGE;
  #steps = 0;

  constructor(turn, program) {
    this.turn = turn;
    this.program = program;
  }

  async run({ system, messages }, endpoint) {
    const { turn, program } = this;
    const kill = () => program.child.kill();
    turn.signal.addEventListener("abort", kill, { once: true });
    try {
      program.send({ type: "begin", endpoint, system, messages, tools: turn.tools.specs });
      turn.receipt({});
      for await (const line of program.lines) {
        const stopReason = await this.#take(JSON.parse(line));
        if (stopReason) return { stopReason, usage: this.#usage };
      }
    } finally {
      turn.signal.removeEventListener("abort", kill);
    }
    if (!turn.signal.aborted) throw failure("runtime_failed", "The program ended in the midst of a turn.");
    // What had arrived is kept.
    if (this.#text !== "") await this.#record([{ type: "text", text: this.#text }], "aborted");
    return { stopReason: "aborted", usage: this.#usage };
  }

  /** One line of the program; answers why the turn is over, if it is. */
  async #take(line) {
    switch (line.type) {
      case "text":
        this.#text += line.delta;
        await this.turn.emit({ type: "text.delta", delta: line.delta });
        break;
      case "answer":
        return await this.#answered(line);
      case "failed":
        throw failure(line.overflow ? "context_overflow" : "model_bad_request", line.message);
    }
    return undefined;
  }

  async #answered({ text, calls, usage, isCut }) {
    const { turn, program } = this;
    if (usage) {
      this.#usage = usage;
      turn.receipt({ usage });
      await turn.emit({ type: "usage", usage });
    }
    const said = text === "" ? [] : [{ type: "text", text }];
    const stopReason = calls.length > 0 ? "toolUse" : isCut ? "length" : "stop";
    this.#text = "";
    await this.#record([...said, ...calls.map((call) => ({ type: "toolCall", ...call }))], stopReason, usage);
    const results = await Promise.all(calls.map((call) => this.#call(call)));
    if (turn.signal.aborted) return "aborted";
    const inputs = await turn.takeInputs();
    if (results.length === 0 && inputs.length === 0) return isCut ? "length" : "stop";
    this.#steps += 1;
    if (this.#steps >= turn.maxSteps) return "max_steps";
    program.send({ type: "go-on", messages: [...results, ...inputs] });
    turn.receipt({});
    return undefined;
  }

  async #record(content, stopReason, usage) {
    if (content.length === 0) return;
    const { provider, id: model } = this.turn.model;
    const message = { role: "assistant", content, provider, model, stopReason, timestamp: Date.now() };
    await this.turn.emit({ type: "message", message: usage ? { ...message, usage } : message });
  }

  async #call(call) {
    const { turn } = this;
    const { id: toolCallId, name: toolName, arguments: given } = call;
    await turn.emit({ type: "tool.started", toolCallId, toolName, arguments: given });
    const outcome = await turn.tools.call({ type: "toolCall", ...call }, turn.signal);
    await turn.emit({ type: "tool.completed", toolCallId, toolName, outcome });
    const { content, isError } = outcome;
    const message = { role: "toolResult", toolCallId, toolName, content, isError, timestamp: Date.now() };
    await turn.emit({ type: "message", message });
    return message;
  }
}

/** The host tells the user the message; whoever has the package installed can throw its `PagurusError`. */
function failure(code, message) {
  return Object.assign(new Error(message), { code });
}
