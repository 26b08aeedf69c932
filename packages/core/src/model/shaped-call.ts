/** A call with the shape of its answer in the form that the model can give it. */
import type { AssistantMessage } from "@pagurus/contract/message";
import { INVALID_JSON } from "../platform/call-arguments.ts";
import type { ModelCall } from "./quirks/quirk-kinds.ts";
import type { PromptTool } from "./prompt-types.ts";
import type { AnswerShape } from "./provider-types.ts";

/** Name of the tool whose arguments are a JSON answer, unless the request has one of that name. */
const ANSWER_TOOL = "json";

export function shapedCall(call: ModelCall): ModelCall {
  const answered = withAnswerTool(call);
  const { quirks, facts, shape, tools } = answered;
  const { toolChoice: choice } = shape;
  const isForced = choice === "required" || typeof choice === "object";
  if (!isForced || !quirks.refusesForcedTools(facts)) return answered;
  const left = typeof choice === "object" ? tools.filter(({ name }) => name === choice.name) : tools;
  return { ...answered, tools: left, shape: { ...shape, toolChoice: "auto" } };
}

/** Asks for a JSON answer as the call of a tool, for a model that takes its schema in no other way. */
function withAnswerTool(call: ModelCall): ModelCall {
  const { shape, tools, facts, quirks } = call;
  const { responseFormat, toolChoice, ...rest } = shape;
  const schema = responseFormat?.schema;
  if (!schema || !quirks.answersByTool(facts, schema)) return call;
  const offered = offeredTools(tools, toolChoice);
  const name = freeToolName(offered);
  const description = responseFormat.description ?? "Respond with a JSON object.";
  const answerTool: PromptTool = { name, description, parameters: schema };
  return {
    ...call,
    tools: [...offered, answerTool],
    answerTool: name,
    shape: { ...rest, parallelToolCalls: false, toolChoice: "required" },
  };
}

function offeredTools(
  tools: readonly PromptTool[],
  choice: AnswerShape["toolChoice"],
): readonly PromptTool[] {
  if (choice === "none") return [];
  return typeof choice === "object" ? tools.filter(({ name }) => name === choice.name) : tools;
}

function freeToolName(tools: readonly PromptTool[]): string {
  const isTaken = (name: string): boolean => tools.some((tool) => tool.name === name);
  let name = ANSWER_TOOL;
  for (let suffix = 1; isTaken(name); suffix++) name = `${ANSWER_TOOL}_${suffix}`;
  return name;
}

/** The content with the arguments of the tool as the answer's text; the words beside them are not part of it. */
export function answeredContent(
  content: AssistantMessage["content"],
  answerTool: string | undefined,
): AssistantMessage["content"] {
  const isAnswer = (part: AssistantMessage["content"][number]): boolean =>
    part.type === "toolCall" && part.name === answerTool;
  if (answerTool === undefined || !content.some(isAnswer)) return content;
  return content.flatMap((part): AssistantMessage["content"] => {
    if (part.type === "text") return [];
    if (part.type !== "toolCall" || !isAnswer(part)) return [part];
    const raw = part.arguments[INVALID_JSON];
    return [{ type: "text", text: typeof raw === "string" ? raw : JSON.stringify(part.arguments) }];
  });
}
