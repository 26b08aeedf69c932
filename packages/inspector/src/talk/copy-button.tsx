import { useState } from "preact/hooks";

/** How long it says that it has copied, ms. */
const SAID_MS = 1_600;

export function CopyButton({ text, label, children }: { text: string; label: string; children?: string }) {
  const [said, setSaid] = useState("");
  const say = (words: string): void => {
    setSaid(words);
    setTimeout(() => setSaid(""), SAID_MS);
  };
  return (
    <button
      type="button"
      class="quiet"
      aria-label={label}
      onClick={() =>
        void navigator.clipboard.writeText(text).then(
          () => say("Copied"),
          () => say("Not allowed"),
        )
      }
    >
      <span aria-live="polite">{said === "" ? (children ?? "Copy") : said}</span>
    </button>
  );
}
