/** The text of a command that was run, until it is closed. */
import { visible } from "../plain-text.ts";

export function CommandText({ text, onClose }: { text: string; onClose(): void }) {
  if (text === "") return null;
  return (
    <section class="command-text" aria-label="Answer of the command">
      <pre tabIndex={0} role="status" dir="auto">
        {visible(text)}
      </pre>
      <button type="button" class="quiet" onClick={onClose}>
        Close
      </button>
    </section>
  );
}
