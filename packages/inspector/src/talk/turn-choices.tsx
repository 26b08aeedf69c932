/** The choices for the next turns: model, thinking, runtime and permission mode, kept for each conversation. */
import type { Choices, Turn } from "@pagurus/api/types";
import { useEffect, useState } from "preact/hooks";
import { server } from "../server-calls.ts";

export type Chosen = Pick<Turn, "model" | "thinking" | "runtime" | "permission">;

const LAST = "pagurus-choices";

function read(name: string): Chosen {
  try {
    return JSON.parse(localStorage.getItem(name) ?? "{}") as Chosen;
  } catch {
    // What another program wrote there is no choice.
    return {};
  }
}

/** Kept under the place, and for the next new conversation. */
export function useChosen(id: string): [Chosen, (change: Chosen) => void] {
  const [chosen, setChosen] = useState<Chosen>(() => read(`${LAST} ${id}`));
  const change = (next: Chosen): void => {
    const all = Object.fromEntries(
      Object.entries({ ...chosen, ...next }).filter(([, value]) => value !== undefined),
    ) as Chosen;
    localStorage.setItem(`${LAST} ${id}`, JSON.stringify(all));
    setChosen(all);
  };
  return [chosen, change];
}

export function keepChosen(id: string, chosen: Chosen): void {
  localStorage.setItem(`${LAST} ${id}`, JSON.stringify(chosen));
}

export function useChoices(
  agent: string,
  session: string | undefined,
  cwd: string | undefined,
): Choices | undefined {
  const [choices, setChoices] = useState<Choices>();
  useEffect(() => {
    const controller = new AbortController();
    server.choices({ agent, session, cwd, signal: controller.signal }).then(setChoices, () => undefined);
    return () => controller.abort();
  }, [agent, session, cwd]);
  return choices;
}

interface ChooserProps {
  label: string;
  value: string | undefined;
  configured: string;
  options: readonly { id: string; name: string; says?: string }[];
  onChoose(id: string | undefined): void;
}

function Chooser({ label, value, configured, options, onChoose }: ChooserProps) {
  const others = options.filter(({ id }) => id !== configured);
  const own = options.find(({ id }) => id === configured);
  const shown = options.find(({ id }) => id === (value ?? configured));
  return (
    <label class="chooser" title={shown?.says ?? `${label}: ${shown?.name ?? value ?? configured}`}>
      <span class="sr-only">{label}</span>
      <select
        aria-label={label}
        value={value ?? ""}
        onChange={({ currentTarget }) =>
          onChoose(currentTarget.value === "" ? undefined : currentTarget.value)
        }
      >
        <option value="">{own?.name ?? configured}</option>
        {others.map(({ id, name }) => (
          <option key={id} value={id}>
            {name}
          </option>
        ))}
        {value !== undefined && !options.some(({ id }) => id === value) ? (
          <option value={value}>{value}</option>
        ) : null}
      </select>
    </label>
  );
}

const THINKING: Readonly<Record<string, string>> = {
  off: "No thinking",
  low: "Thinks a little",
  medium: "Thinks",
  high: "Thinks long",
};

export function Choosers({
  choices,
  chosen,
  onChange,
}: {
  choices: Choices;
  chosen: Chosen;
  onChange(change: Chosen): void;
}) {
  return (
    <>
      <Chooser
        label="Model"
        value={chosen.model}
        configured={choices.model}
        options={choices.models.map((id) => ({ id, name: id }))}
        onChoose={(model) => onChange({ model })}
      />
      <Chooser
        label="Thinking"
        value={chosen.thinking}
        configured="Default thinking"
        options={choices.thinking.map((id) => ({ id, name: THINKING[id] ?? id }))}
        onChoose={(thinking) => onChange({ thinking: thinking as Chosen["thinking"] })}
      />
      <Chooser
        label="Agent program"
        value={chosen.runtime}
        configured={choices.runtime}
        options={choices.runtimes.map(({ id, label }) => ({ id, name: label }))}
        onChoose={(runtime) => onChange({ runtime })}
      />
      <Chooser
        label="Permission"
        value={chosen.permission}
        configured={choices.mode}
        options={choices.modes}
        onChoose={(permission) => onChange({ permission: permission as Chosen["permission"] })}
      />
    </>
  );
}
