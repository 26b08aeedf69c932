/** A preview of a request: the context for a prompt and a budget that the user writes; nothing is sent or stored. */
import { useState } from "preact/hooks";
import { useLoaded } from "./loaded.ts";
import { Notice } from "./notice.tsx";
import { count } from "@pagurus/core/data/plain-numbers";
import { bytes, oneLine } from "./plain-text.ts";
import { server } from "./server-calls.ts";
import { SourceMark } from "./legend/explained.tsx";
import { VirtualList } from "./virtual-list.tsx";

interface Asked {
  prompt: string;
  budget?: number;
}

export function PreviewPage({ agent, sessionKey }: { agent: string; sessionKey: string }) {
  const [asked, setAsked] = useState<Asked>({ prompt: "" });
  const { value, error } = useLoaded(
    (signal) => server.preview(sessionKey, asked, { agent, signal }),
    [agent, sessionKey, asked.prompt, asked.budget],
  );
  return (
    <main class="page">
      <form
        class="bar"
        onSubmit={(event) => {
          event.preventDefault();
          const fields = new FormData(event.currentTarget);
          const [prompt, budget] = [fields.get("prompt"), Number(fields.get("budget"))];
          setAsked({ prompt: typeof prompt === "string" ? prompt : "", ...(budget > 0 ? { budget } : {}) });
        }}
      >
        <label>
          Prompt <input name="prompt" type="text" data-first autocomplete="off" />
        </label>
        <label>
          Budget, tokens <input name="budget" type="number" min="1" step="1" />
        </label>
        <button type="submit">Preview</button>
      </form>
      {error === undefined ? null : <Notice text={error} />}
      {value ? (
        <>
          <p class="facts">
            {count(value.receipt.tokens)} of {count(value.receipt.tokenBudget)} tokens ·{" "}
            {oneLine(value.receipt.engine)}
          </p>
          <section class="pane" aria-label="Parts that would be sent">
            <VirtualList
              label="Parts that would be sent"
              items={value.receipt.parts.map((part, index) => ({ ...part, index }))}
              keyOf={({ index }) => String(index)}
              takesFocus={false}
              onOpen={() => undefined}
              row={(part) => (
                <>
                  <span class="row-title">
                    <SourceMark source={part.source === "history" ? "kept" : part.source} />
                    {oneLine(part.path ?? part.role)}
                  </span>
                  <span class="row-facts">
                    {bytes(part.bytes)} · {count(part.tokens)} tokens
                  </span>
                </>
              )}
            />
          </section>
        </>
      ) : error === undefined ? (
        <Notice text="Assembling the context …" />
      ) : null}
    </main>
  );
}
