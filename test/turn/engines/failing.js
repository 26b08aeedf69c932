// A context engine that fails on demand: config {stage, how: "throw" | "hang" | "nonsense", times?, log, holds?}; with
// `holds` what hangs keeps the process alive, which the host must end all the same.
import { appendFileSync, existsSync, readFileSync } from "node:fs";

export default function register(api) {
  const { stage, how, log, settle = "afterTurn", times = Infinity, holds = false } = api.pluginConfig;
  const hang = () =>
    new Promise(() => {
      const timer = setInterval(() => undefined, 1_000);
      if (!holds) timer.unref();
    });
  const calls = () =>
    existsSync(log)
      ? readFileSync(log, "utf8")
          .split("\n")
          .filter(Boolean)
          .map((line) => JSON.parse(line))
      : [];
  const failures = () => calls().filter((call) => call.failed).length;

  const member = (name, stageName, work) => async (params) => {
    const failed = stage === stageName && failures() < times;
    const messages = params?.messages ?? (params?.message ? [params.message] : []);
    const texts = messages.map((message) =>
      typeof message.content === "string"
        ? message.content
        : message.content.map((part) => part.text ?? "").join(""),
    );
    appendFileSync(
      log,
      `${JSON.stringify({ name, failed, texts, before: params?.prePromptMessageCount, key: params?.advancementKey })}\n`,
    );
    if (!failed) return work(params);
    if (how === "throw") throw new Error(`the engine broke at ${stageName}`);
    if (how === "hang") return hang();
    return "nonsense";
  };

  if (stage === "register") throw new Error("the engine broke at register");
  api.registerContextEngine("failing", () => {
    if (stage === "factory" && how === "nonsense") return { info: { id: "failing", name: "Failing" } };
    if (stage === "factory" && how === "hang") return hang();
    if (stage === "factory") throw new Error("the engine broke at its factory");
    const engine = {
      info: {
        id: "failing",
        name: "Failing engine",
        hostRequirements:
          stage === "requirements"
            ? {
                "agent-run": {
                  requiredCapabilities: ["native-thread-of-its-own"],
                  unsupportedMessage: "Use another runtime.",
                },
              }
            : undefined,
      },
      bootstrap: member("bootstrap", "bootstrap", () => ({ bootstrapped: true })),
      ingest: member("ingest", "settle", () => ({ ingested: true })),
      assemble: member("assemble", "assemble", (params) => ({
        messages: params.messages,
        estimatedTokens: 1,
        systemPromptAddition: "Engine addition.",
      })),
      compact: member("compact", "compact", () => ({ ok: true, compacted: false, reason: "nothing" })),
      maintain: member("maintain", "maintain", () => ({
        changed: false,
        bytesFreed: 0,
        rewrittenEntries: 0,
      })),
      dispose: member("dispose", "dispose", () => undefined),
    };
    if (settle === "afterTurn") engine.afterTurn = member("afterTurn", "settle", () => undefined);
    if (settle === "ingestBatch")
      engine.ingestBatch = member("ingestBatch", "settle", (params) => ({
        ingestedCount: params.messages.length,
      }));
    if (settle === "commitTurn")
      engine.commitTurn = member("commitTurn", "settle", () => ({ status: "committed" }));
    return engine;
  });
}
