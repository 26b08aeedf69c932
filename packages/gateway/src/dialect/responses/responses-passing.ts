/** An answer of the Responses API that passes: thinking as its items have it, without the encrypted content, which only its provider can read. */
import type { AssistantMessage, ThinkingPart } from "@pagurus/contract/message";
import { parseRecord } from "@pagurus/core/data/record-fields";
import type { ReadAnswer } from "@pagurus/core/protocols/answer-reader";
import { toolName } from "@pagurus/core/protocols/protocol-parts";
import { responsesReader } from "@pagurus/core/protocols/responses/responses-reader";
import { PassingReader, recordedPart } from "../passing-reader.ts";
import type { AnswerReader, WireHeaders } from "../wire-dialect.ts";

function itemId({ signature }: ThinkingPart): unknown {
  return signature === undefined ? undefined : parseRecord(signature)?.["id"];
}

/** The parts of one reasoning item are one thinking. */
function contentOf({ content }: ReadAnswer): AssistantMessage["content"] {
  const recorded: AssistantMessage["content"] = [];
  let last: { thinking: ThinkingPart; id: unknown } | undefined;
  for (const part of content) {
    if (part.type !== "thinking") {
      const own = recordedPart(part);
      recorded.push(own.type === "toolCall" ? { ...own, name: toolName(own.name) } : own);
      last = undefined;
      continue;
    }
    if (part.thinking === "") continue;
    const id = itemId(part);
    if (last && id !== undefined && last.id === id) last.thinking.thinking += `\n\n${part.thinking}`;
    else {
      last = { thinking: { type: "thinking", thinking: part.thinking }, id };
      recorded.push(last.thinking);
    }
  }
  return recorded;
}

export function passingReader(status: number, headers: WireHeaders): AnswerReader {
  return new PassingReader(responsesReader({ status, headers }), { status, content: contentOf });
}
