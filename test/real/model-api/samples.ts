/** What the calls of the packages are about. */
export const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
export const QUESTION = "Weather in Bern?";
export const SCHEMA = {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
  additionalProperties: false,
};
/** A model's call of the tool, with text before it. */
export const CALLS = {
  text: "I look.",
  toolCalls: [{ id: "call_1", name: "weather", arguments: { city: "Bern" } }],
};

export async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}
