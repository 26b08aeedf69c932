/** A harness of the contract `pagurus.harness/1`, in the old words: seam and lane `native`. It answers with the text of the context. */
const NO_USAGE = { input: 0, output: 0, totalTokens: 0 };
const ABOUT = { lane: "native", trigger: "threshold", backend: "plain-loop", ownsCompaction: false };

export default function register(api) {
  api.registerAgentHarness({
    id: "plain-loop",
    label: "Plain loop",
    contract: "pagurus.harness/1",
    execution: { kind: "in-process" },
    seam: "native",
    capabilities: ["bootstrap", "assemble-before-prompt", "after-turn", "maintain", "compact"],
    supports: () => ({ supported: true }),
    async runTurn(turn) {
      await turn.takeInputs();
      const { messages } = await turn.assemble();
      turn.receipt({});
      await turn.emit({ type: "compaction.started", ...ABOUT, tokensBefore: 100 });
      await turn.emit({
        type: "compaction.completed",
        ...ABOUT,
        tokensBefore: 100,
        tokensAfter: 50,
        handledBy: "plain-loop",
      });
      const said = messages.map(({ role, content }) => `${role}: ${JSON.stringify(content)}`).join("\n");
      const content = [{ type: "text", text: `The context was:\n${said}` }];
      await turn.emit({ type: "message", message: { role: "assistant", content } });
      return { stopReason: "stop", usage: NO_USAGE };
    },
  });
}
