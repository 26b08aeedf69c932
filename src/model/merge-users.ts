import type { LanguageModelV4Message, LanguageModelV4Prompt } from "@ai-sdk/provider";

type UserContent = Extract<LanguageModelV4Message, { role: "user" }>["content"];

/**
 * Joins user messages that follow one another. The chat templates of many open models (Mistral, Gemma) refuse two
 * user messages in a row, and a template error ends the turn; neighbouring texts become one, so that servers which
 * read only a string get one.
 */
export function mergeUserMessages(prompt: LanguageModelV4Prompt): LanguageModelV4Prompt {
  const merged: LanguageModelV4Prompt = [];
  for (const message of prompt) {
    const last = merged.at(-1);
    if (message.role === "user" && last?.role === "user")
      last.content = joined(last.content, message.content);
    else
      merged.push(message.role === "user" ? { ...message, content: joined([], message.content) } : message);
  }
  return merged;
}

function joined(before: UserContent, after: UserContent): UserContent {
  const content = [...before];
  for (const part of after) {
    const last = content.at(-1);
    if (part.type === "text" && last?.type === "text") {
      content[content.length - 1] = { type: "text", text: `${last.text}\n\n${part.text}` };
    } else {
      content.push(part);
    }
  }
  return content;
}
