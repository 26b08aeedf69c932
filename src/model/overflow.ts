/**
 * How servers say that the input does not fit the model's window. Each phrase is from the error text of the server
 * named beside it; a rate limit that counts tokens is not one of them.
 */
const PHRASES: readonly RegExp[] = [
  /context_length_exceeded/i, // OpenAI, DeepSeek, OpenRouter (code)
  /exceed_context_size_error/i, // llama.cpp (type)
  /exceeds? the context window/i, // OpenAI Responses
  /maximum (?:context|prompt) length/i, // OpenAI Chat, vLLM, OpenRouter, Ollama, xAI
  /longer than the maximum model length/i, // vLLM
  /longer than the model's context length/i, // vLLM, TGI
  /prompt is too long/i, // Anthropic
  /exceed context limit/i, // Anthropic: input and max_tokens together
  /request_too_large/i, // Anthropic: the request's bytes
  /input token count.{0,40}exceeds/i, // Google
  /exceeds? the (?:available )?context (?:size|length)/i, // llama.cpp, Ollama, LM Studio
  /exceeds? (?:the )?max(?:imum)? context/i, // Ollama
  /exceeded max context length/i, // Ollama
  /(?:greater|larger) than the context length/i, // LM Studio
  /context length of only/i, // LM Studio
  /context (?:window|length|size) (?:is )?exceed/i, // MiniMax, several proxies
  /exceeded model token limit/i, // Moonshot
  /too large for model with \d+ maximum/i, // Mistral
  /input is too long for requested model/i, // Bedrock behind a proxy
  /reduce the length of the (?:messages|prompt|input)/i, // Groq, OpenAI
];

const RATE_LIMIT = /rate.?limit|tokens per (?:min|day)|\bTPM\b|too many requests/i;

/** True when an error's text (message, code, body) says that the context does not fit. */
export function saysContextOverflow(text: string): boolean {
  return !RATE_LIMIT.test(text) && PHRASES.some((phrase) => phrase.test(text));
}
