/**
 * A harness: turns of the host that an external program executes. The program (agent.js, or another one that speaks
 * the same lines) owns the loop; this file starts it with what the engine assembled, makes its tool calls in the
 * host, and passes every message of it to the host's transcript.
 */
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const AGENT = fileURLToPath(new URL("agent.js", import.meta.url));
const STDIO = ["pipe", "pipe", "inherit"];
const NO_USAGE = { input: 0, output: 0, totalTokens: 0 };
/** Timeout for the program's exit after SIGTERM, ms. */
const END_MS = 2_000;

export default function register(api) {
  const [command, ...args] = api.pluginConfig?.command ?? [process.execPath, AGENT];
  const running = new Set();

  /** The model's endpoint; the agent speaks one protocol. */
  function endpointOf(model) {
    const { baseUrl, apiKey } = api.config.models?.providers?.[model.provider] ?? {};
    return model.api === "openai-completions" && baseUrl ? { baseUrl, apiKey, model: model.id } : undefined;
  }

  api.registerAgentHarness({
    id: "example-program",
    label: "Example program",
    contract: "pagurus.harness/2",
    execution: { kind: "child-process", detail: "agent.js" },
    // Each turn the program gets the whole conversation as messages, and continues from there itself.
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
      threadHistory: "The host's transcript: the program gets all of it in each turn.",
      hostTools: "Yes, all of them.",
      hostToolHooks: "Yes, as in embedded.",
      nativeToolHooks: "It has no tools of its own.",
      compactionData: "None: it does not compact.",
      unsupported: [],
    },
    supports(model) {
      if (endpointOf(model)) return { supported: true };
      const reason = `The example program needs a provider with baseUrl and the API openai-completions; ${model.provider} has ${model.api}.`;
      return { supported: false, reason };
    },
    start(turn) {
      return { run: () => runProgram(turn), continueWith: () => runProgram(turn) };
    },
    dispose: () => Promise.all([...running].map((program) => program.end())),
  });

  async function runProgram(turn) {
    let overflow;
    for (;;) {
      const context = await turn.context.assemble(overflow && { overflow });
      if (turn.signal.aborted) return { stopReason: "aborted", usage: NO_USAGE };
      const program = new Program(spawn(command, args, { cwd: turn.cwd, stdio: STDIO }));
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
  }
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
      turn.context.receipt({});
      for await (const line of program.lines) {
        const stopReason = await this.#take(JSON.parse(line));
        if (stopReason) return { stopReason, usage: this.#usage };
      }
    } finally {
      turn.signal.removeEventListener("abort", kill);
    }
    if (!turn.signal.aborted) throw failure("runtime_failed", "The program ended during a turn.");
    // Text so far is kept.
    if (this.#text !== "") await this.#record([{ type: "text", text: this.#text }], "aborted");
    return { stopReason: "aborted", usage: this.#usage };
  }

  /** Handles one line of the program; returns the stop reason when the turn is over. */
  async #take(line) {
    switch (line.type) {
      case "text":
        this.#text += line.delta;
        await this.turn.io.emit({ type: "text.delta", delta: line.delta });
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
      turn.context.receipt({ usage });
      await turn.io.emit({ type: "usage", usage });
    }
    const said = text === "" ? [] : [{ type: "text", text }];
    const stopReason = calls.length > 0 ? "toolUse" : isCut ? "length" : "stop";
    this.#text = "";
    await this.#record([...said, ...calls.map((call) => ({ type: "toolCall", ...call }))], stopReason, usage);
    const results = await Promise.all(calls.map((call) => this.#call(call)));
    if (turn.signal.aborted) return "aborted";
    const inputs = await turn.io.takeInputs();
    if (results.length === 0 && inputs.length === 0) return isCut ? "length" : "stop";
    this.#steps += 1;
    if (this.#steps >= turn.maxSteps) return "max_steps";
    program.send({ type: "go-on", messages: [...results, ...inputs] });
    turn.context.receipt({});
    return undefined;
  }

  async #record(content, stopReason, usage) {
    if (content.length === 0) return;
    const { provider, id: model } = this.turn.model;
    const message = { role: "assistant", content, provider, model, stopReason, timestamp: Date.now() };
    await this.turn.io.emit({ type: "message", message: usage ? { ...message, usage } : message });
  }

  async #call(call) {
    const { turn } = this;
    const { id: toolCallId, name: toolName, arguments: given } = call;
    await turn.io.emit({ type: "tool.started", toolCallId, toolName, arguments: given });
    const outcome = await turn.tools.call({ type: "toolCall", ...call }, turn.signal);
    await turn.io.emit({ type: "tool.completed", toolCallId, toolName, outcome });
    const { content, isError } = outcome;
    const message = { role: "toolResult", toolCallId, toolName, content, isError, timestamp: Date.now() };
    await turn.io.emit({ type: "message", message });
    return message;
  }
}

/** The host shows the message to the user; with the package installed, throw its `PagurusError` instead. */
function failure(code, message) {
  return Object.assign(new Error(message), { code });
}
