/** A harness that answers with the text of the context, and reports a compaction of its own. */
const NO_USAGE = { input: 0, output: 0, totalTokens: 0 };
const ABOUT = { lane: "harness", trigger: "threshold", backend: "plain-loop", ownsCompaction: false };

export default function register(api) {
  api.registerAgentHarness({
    id: "plain-loop",
    label: "Plain loop",
    contract: "pagurus.harness/2",
    execution: { kind: "in-process" },
    seam: "embedded",
    capabilities: ["bootstrap", "assemble-before-prompt", "after-turn", "maintain", "compact"],
    supports: () => ({ supported: true }),
    start: (turn) => ({ run: () => runTurn(turn), continueWith: () => runTurn(turn) }),
  });
}

async function runTurn({ context, io }) {
  await io.takeInputs();
  const { messages } = await context.assemble();
  context.receipt({});
  await io.emit({ type: "compaction.started", ...ABOUT, tokensBefore: 100 });
  await io.emit({
    type: "compaction.completed",
    ...ABOUT,
    tokensBefore: 100,
    tokensAfter: 50,
    handledBy: "plain-loop",
  });
  const said = messages.map(({ role, content }) => `${role}: ${JSON.stringify(content)}`).join("\n");
  const content = [{ type: "text", text: `The context was:\n${said}` }];
  await io.emit({ type: "message", message: { role: "assistant", content } });
  return { stopReason: "stop", usage: NO_USAGE };
}
