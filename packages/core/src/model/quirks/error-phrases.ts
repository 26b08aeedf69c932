import { speaksOfLength } from "./overflow-words.ts";

/**
 * What servers mean by the texts of their errors. Each phrase of an overflow is from the server named beside it; a rate limit
 * that counts tokens is not one of them.
 */
const OVERFLOW: readonly RegExp[] = [
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
  /input is too long for requested model/i, // Bedrock through a proxy
  /reduce the length of the (?:messages|prompt|input)/i, // Groq, OpenAI
];

const RATE_LIMIT = /rate.?limit|tokens per (?:min|day)|\bTPM\b|too many requests/i;

/** True when an error's text (message, code, body) reports a context overflow. */
export function saysContextOverflow(text: string): boolean {
  return !RATE_LIMIT.test(text) && (OVERFLOW.some((phrase) => phrase.test(text)) || speaksOfLength(text));
}

const QUOTA = /insufficient_quota|exceeded your current quota|billing|credit balance|request too large/i;

/** Whether a rate limit is permanent. */
export function saysQuotaUsedUp(text: string): boolean {
  return QUOTA.test(text);
}

const BAD_REQUEST = /^(?:error: )?invalid (?:arguments?|request|parameters?|values?|input|schema)\b/i;

/** Whether an error without a status is about the request, which a retry does not change. */
export function saysBadRequest(text: string): boolean {
  return BAD_REQUEST.test(text);
}

const STALE_THINKING =
  /signature.{0,60}(?:thinking|invalid|verif|not valid)|invalid.{0,30}signature|bound to a different|encrypted.?content|thinking.{0,40}blocks?.{0,60}(?:modified|removed|different)/i;

/** Whether a refusal is about signed thinking that the provider can no longer read. */
export function saysStaleThinking(text: string): boolean {
  return STALE_THINKING.test(text);
}

/** Messages of OpenAI, Anthropic, Google, OpenRouter, Ollama and vLLM. */
const NO_SUCH_MODEL =
  /model_not_found|models?\b.{0,100}(?:not found|not exist|no such|not available|not a valid model|unknown)|(?:no such|unknown|invalid) model|not a valid model/i;

interface Refusal {
  status?: number;
  code: string;
  message: string;
  body: string;
}

/** Whether a server reports that it does not have the model `id`; a 404 may also mean a wrong address. */
export function saysNoSuchModel({ status, code, message, body }: Refusal, id: string): boolean {
  if (status === 400)
    return /model_not_found|not a valid model|model.{0,60}does not exist/i.test(`${code} ${message}`);
  if (status !== 404) return false;
  return NO_SUCH_MODEL.test(`${code} ${message} ${body}`) || message.includes(id);
}
