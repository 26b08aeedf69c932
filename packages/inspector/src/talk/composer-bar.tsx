/** The bar below the input: files, choices for the turn, when a message is sent, and the buttons that send and stop. */
import { useState } from "preact/hooks";
import type { Choices, Turn } from "@pagurus/api/types";
import { Choosers, type Chosen } from "./turn-choices.tsx";

export type Policy = NonNullable<Turn["policy"]>;

const POLICIES: readonly { id: Policy; name: string }[] = [
  { id: "queue", name: "After this turn" },
  { id: "steer", name: "Into this turn" },
  { id: "interrupt", name: "Instead of it" },
];

interface ComposerBarProps {
  choices: Choices | undefined;
  chosen: Chosen;
  onChoose(change: Chosen): void;
  /** Absent in a conversation that has its folder. */
  folder?: { path: string; onChange(path: string | undefined): void } | undefined;
  policy: Policy;
  onPolicy(policy: Policy): void;
  isRunning: boolean;
  isEmpty: boolean;
  isBusy: boolean;
  onFiles(files: readonly File[]): void;
  onStop(): void;
}

export function ComposerBar(props: ComposerBarProps) {
  const { choices, chosen, onChoose, folder, isRunning, isEmpty, isBusy, onStop } = props;
  const [isOpen, setOpen] = useState(false);
  return (
    <div class="composer-bar">
      <Attach onFiles={props.onFiles} />
      <button
        type="button"
        class="quiet options"
        aria-expanded={isOpen}
        aria-controls="choosers"
        onClick={() => setOpen(!isOpen)}
      >
        Options
      </button>
      <div class="choosers" id="choosers" data-open={isOpen}>
        {choices ? <Choosers choices={choices} chosen={chosen} onChange={onChoose} /> : null}
        {folder ? <Folder {...folder} /> : null}
      </div>
      <span class="space" />
      {isRunning && !isEmpty ? <PolicyChoice policy={props.policy} onPolicy={props.onPolicy} /> : null}
      {isRunning ? (
        <button
          type="button"
          class="round stop"
          aria-label="Stop the turn"
          title="Stop (Esc)"
          onClick={onStop}
        >
          <span aria-hidden="true">■</span>
        </button>
      ) : null}
      {isRunning && isEmpty ? null : (
        <button
          type="submit"
          class="round primary"
          aria-label="Send"
          title="Send (Enter)"
          disabled={isBusy || isEmpty}
        >
          <span aria-hidden="true">↑</span>
        </button>
      )}
    </div>
  );
}

function Attach({ onFiles }: { onFiles(files: readonly File[]): void }) {
  return (
    <label class="attach" title="Attach pictures or files">
      <span aria-hidden="true">+</span>
      <input
        type="file"
        multiple
        aria-label="Attach pictures or files"
        onChange={({ currentTarget }) => {
          onFiles([...(currentTarget.files ?? [])]);
          currentTarget.value = "";
        }}
      />
    </label>
  );
}

function Folder({ path, onChange }: { path: string; onChange(path: string | undefined): void }) {
  return (
    <label class="chooser folder" title="Folder that the agent works in">
      <span class="sr-only">Folder</span>
      <input
        type="text"
        aria-label="Folder"
        value={path}
        onChange={({ currentTarget: { value } }) => onChange(value.trim() === "" ? undefined : value.trim())}
      />
    </label>
  );
}

function PolicyChoice({ policy, onPolicy }: { policy: Policy; onPolicy(policy: Policy): void }) {
  return (
    <select
      aria-label="When it is sent"
      class="policy"
      value={policy}
      onChange={({ currentTarget: { value } }) =>
        onPolicy(POLICIES.find(({ id }) => id === value)?.id ?? "queue")
      }
    >
      {POLICIES.map(({ id, name }) => (
        <option key={id} value={id}>
          {name}
        </option>
      ))}
    </select>
  );
}
