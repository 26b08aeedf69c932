/**
 * A plugin of OpenCode that compacts by `POST /responses/compact`: OpenCode has no such route, and lets a plugin replace the summary
 * only by other text. So the plugin answers OpenCode's own request for a summary with the element that the endpoint returned, as text,
 * and sends the element in place of that text later.
 */

/** How OpenCode asks a model for a summary. */
export const OWN_PROMPT = "You are a context summarization agent.";

export const OPENCODE_PLUGIN = `
const MARK = "compacted by the server: ";
const SUMMARIZES = ${JSON.stringify(OWN_PROMPT)};
const send = globalThis.fetch;
let newest = [];
let head = {};
const textOf = (content) => typeof content === "string" ? content : content.map(({ text = "" }) => text).join("");
const outputOf = (stream) => stream.split("\\n").filter((line) => line.startsWith('data: {"type":"response.completed"')).flatMap((line) => JSON.parse(line.slice(6)).response.output);
const events = (text) => {
  const item = { type: "message", id: "msg_1", role: "assistant", status: "completed", content: [{ type: "output_text", text, annotations: [] }] };
  const response = { id: "resp_1", object: "response", created_at: 0, model: "m", status: "completed", output: [item], usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 } };
  const at = { item_id: "msg_1", output_index: 0, content_index: 0 };
  return [
    { type: "response.created", response: { ...response, output: [] } },
    { type: "response.output_item.added", output_index: 0, item: { ...item, content: [] } },
    { type: "response.output_text.delta", ...at, delta: text },
    { type: "response.output_item.done", output_index: 0, item },
    { type: "response.completed", response },
  ].map((event, sequence_number) => "data: " + JSON.stringify({ ...event, sequence_number }) + "\\n\\n").join("");
};
globalThis.fetch = async (url, init) => {
  if (!String(url).endsWith("/responses") || typeof init?.body !== "string") return send(url, init);
  const body = JSON.parse(init.body);
  if (textOf(body.input[0]?.content ?? "").startsWith(SUMMARIZES)) {
    const asked = { model: body.model, input: newest };
    const answer = await send(String(url) + "/compact", { ...init, body: JSON.stringify(asked) });
    const { output } = await answer.json();
    return new Response(events(MARK + JSON.stringify(output)), { headers: { "content-type": "text/event-stream" } });
  }
  const at = body.input.findLastIndex(({ role, content }) => role === "assistant" && textOf(content).startsWith(MARK));
  if (at >= 0) {
    const window = JSON.parse(textOf(body.input[at].content).slice(MARK.length));
    body.input = [...body.input.filter(({ role }, index) => index < at && role === "system"), ...window, ...body.input.slice(at + 1)];
  }
  const answer = await send(url, { ...init, body: JSON.stringify(body) });
  if (!body.tools) return answer;
  const copy = answer.clone();
  void copy.text().then((stream) => { newest = [...body.input, ...outputOf(stream)]; });
  return answer;
};

export const Compact = async () => ({});
`;
