/** A sentence in place of content: it is loading, there is none, or it failed. */
import { visible } from "./plain-text.ts";

export function Notice({ text }: { text: string }) {
  return (
    <p class="notice" role="status">
      {visible(text)}
    </p>
  );
}
