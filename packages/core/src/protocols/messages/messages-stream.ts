/** A content block of the Messages API while it streams. */
import { type Fields, stringOf } from "../../data/record-fields.ts";

export interface StreamedBlock {
  /** As in a whole message, as far as it has come. */
  readonly fields: Record<string, unknown>;
  /** The streamed arguments of a call. */
  json: string;
}

/** `block`: of `content_block_start`, or of a whole message. */
export function streamedBlock(block: Fields): StreamedBlock {
  return { fields: { ...block }, json: "" };
}

/** `delta`: of `content_block_delta`. Ignores a type that it does not know. */
export function addDelta(block: StreamedBlock, delta: Fields): void {
  const { fields } = block;
  const append = (name: string): void => {
    fields[name] = stringOf(fields[name]) + stringOf(delta[name]);
  };
  if (delta["type"] === "text_delta") append("text");
  else if (delta["type"] === "thinking_delta") append("thinking");
  else if (delta["type"] === "signature_delta") append("signature");
  else if (delta["type"] === "input_json_delta") block.json += stringOf(delta["partial_json"]);
}
