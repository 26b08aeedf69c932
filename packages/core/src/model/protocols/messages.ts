/** Requests of Anthropic's Messages API. */
import { keyHeader } from "../quirks/key-header.ts";
import { recordOf } from "../../data/record-fields.ts";
import { fileFields } from "../../protocols/files.ts";
import { type Block, callBlock, thinkingBlock } from "../../protocols/messages/messages-blocks.ts";
import type { ModelCall, ModelProtocol, RequestBody } from "../quirks/quirk-kinds.ts";
import type { AnswerPart, AnswerTurn, PromptMessage, PromptPart, PromptResult } from "../prompt-types.ts";
import type { AnswerShape } from "../provider-types.ts";
import { claudeSchema } from "../quirks/claude-schema.ts";

const VERSION = "2023-06-01";
const MARK = { cache_control: { type: "ephemeral" } };

interface Element {
  role: "user" | "assistant";
  content: Block[];
}

function marked(block: Block, mark: boolean | undefined): Block {
  return mark ? { ...block, ...MARK } : block;
}

function partBlock(part: PromptPart): Block {
  if (part.type === "text") return { type: "text", text: part.text };
  if (part.type === "file") return { type: "document", ...fileFields("anthropic-messages", part) };
  return { type: "image", source: { type: "base64", media_type: part.mimeType, data: part.data } };
}

function resultBlock({ id, text, images, failed }: PromptResult): Block {
  const content = images.length === 0 ? text : [{ type: "text" as const, text }, ...images].map(partBlock);
  return {
    type: "tool_result",
    tool_use_id: id,
    content: typeof content === "string" ? content : [...content],
    ...(failed ? { is_error: true } : {}),
  };
}

function answerBlock(part: AnswerPart): Block {
  if (part.type === "thinking") return thinkingBlock(part);
  return part.type === "text" ? partBlock(part) : callBlock(part.id, part.name, part.arguments);
}

/** Blocks of a message; its mark is on the last one, except on thinking, which accepts none. */
function blocksOf(message: Exclude<PromptMessage, { role: "system" }>): Block[] {
  const lastMark = (index: number): boolean => message.mark === true && index === message.content.length - 1;
  switch (message.role) {
    case "user":
      return message.content.map((part, index) =>
        marked(partBlock(part), (part.type === "text" && part.mark) || lastMark(index)),
      );
    case "tool":
      return message.content.map((result, index) => marked(resultBlock(result), lastMark(index)));
    case "assistant":
      return message.content.map((part, index) =>
        marked(answerBlock(part), lastMark(index) && part.type !== "thinking"),
      );
  }
}

/** Calls at the end of each stretch between thinking blocks: the API refuses text after a call. */
function callsLast(blocks: readonly Block[]): Block[] {
  const ordered: Block[] = [];
  let calls: Block[] = [];
  for (const block of blocks) {
    if (block.type === "tool_use") calls.push(block);
    else if (block.type === "text") ordered.push(block);
    else {
      ordered.push(...calls, block);
      calls = [];
    }
  }
  return [...ordered, ...calls];
}

/** The messages after the system text; adjacent ones of one role are one element. */
function elementsOf(prompt: ModelCall["prompt"]): Element[] {
  const elements: Element[] = [];
  for (const message of prompt) {
    if (message.role === "system") continue;
    const role = message.role === "assistant" ? "assistant" : "user";
    const last = elements.at(-1);
    if (last?.role === role) last.content.push(...blocksOf(message));
    else elements.push({ role, content: blocksOf(message) });
  }
  trimEnd(elements, prompt.at(-1));
  return elements.map(({ role, content }) => ({
    role,
    content: role === "assistant" ? callsLast(content) : content,
  }));
}

/** The API refuses white space around the end of an answer that the model is to continue. */
function trimEnd(elements: readonly Element[], last: PromptMessage | undefined): void {
  if (last?.role !== "assistant") return;
  const block = elements.at(-1)?.content.at(-1);
  const part: AnswerTurn["content"][number] | undefined = last.content.at(-1);
  if (block && part?.type === "text") Object.assign(block, { text: part.text.trim() });
}

function systemMember(prompt: ModelCall["prompt"]): RequestBody {
  const system = prompt.flatMap((message) =>
    message.role === "system" ? [marked({ type: "text", text: message.text }, message.mark)] : [],
  );
  return system.length === 0 ? {} : { system };
}

function choiceOf({ toolChoice = "auto", parallelToolCalls }: AnswerShape): RequestBody {
  if (toolChoice === "none") return { type: "none" };
  const isNamed = typeof toolChoice === "object";
  const type = isNamed ? "tool" : toolChoice === "required" ? "any" : "auto";
  return {
    type,
    ...(isNamed ? { name: toolChoice.name } : {}),
    ...(parallelToolCalls === false ? { disable_parallel_tool_use: true } : {}),
  };
}

function toolMembers({ tools, shape }: ModelCall): RequestBody {
  if (tools.length === 0) return {};
  return {
    tools: tools.map(({ name, description, parameters, mark }) => ({
      name,
      description,
      input_schema: parameters,
      ...(mark ? MARK : {}),
    })),
    tool_choice: choiceOf(shape),
  };
}

/** The members by model and effort, with those of the shape. */
function members({ quirks, facts, shape }: ModelCall): RequestBody {
  const own = quirks.members(facts);
  const { stop, responseFormat } = shape;
  const schema = responseFormat?.schema;
  const format = { type: "json_schema", schema: schema && claudeSchema(schema) };
  return {
    ...own,
    ...(stop?.length ? { stop_sequences: stop } : {}),
    ...(schema ? { output_config: { ...recordOf(own["output_config"]), format } } : {}),
  };
}

export const MESSAGES: ModelProtocol = {
  api: "anthropic-messages",
  path: () => "/messages",
  headers: (key) => ({ "anthropic-version": VERSION, ...keyHeader("anthropic-messages", key) }),
  body: (call) => ({
    model: call.facts.model,
    ...members(call),
    ...systemMember(call.prompt),
    messages: elementsOf(call.prompt),
    ...toolMembers(call),
    stream: true,
  }),
};
