/** The model of a native session: how it is set, and which one runs, by what the agent reports. */
import type { ModelInfo } from "@pagurus/contract/model";
import type { Usage } from "@pagurus/contract/message";
import { countOf, type Fields, listOf, recordOf, stringOf } from "@pagurus/core/data/record-fields";

interface Choice {
  value: string;
  name: string;
}

interface ModelSetting {
  method: string;
  /** Parameters in addition to the session id. */
  params(model: string): object;
}

export interface SessionModel {
  /** The current one, in the agent's notation; undefined when the agent names none. */
  current: string | undefined;
  choices: readonly Choice[];
  /** How to set it; undefined when that is not possible. */
  setting: ModelSetting | undefined;
  /** The model that it was last set to, as it was asked for. */
  setFor?: string | undefined;
}

/** Model that a turn asks for. */
export interface AskedModel {
  id: string;
  /** The environment of the process names it. */
  isNamed: boolean;
}

export function unknownSessionModel(): SessionModel {
  return { current: undefined, choices: [], setting: undefined };
}

/**
 * Reads the model from an answer or update of the agent: a config option or, in Gemini CLI, a list of its own. Undefined when
 * there is none.
 */
export function readModel(answer: Fields): SessionModel | undefined {
  const option = listOf(answer["configOptions"])
    .map(recordOf)
    .find(({ category, type }) => category === "model" && type === "select");
  if (option) {
    const configId = stringOf(option["id"]);
    return {
      current: stringOf(option["currentValue"]) || undefined,
      choices: choicesOf(option["options"], "value"),
      setting: { method: "session/set_config_option", params: (value) => ({ configId, value }) },
    };
  }
  const models = recordOf(answer["models"]);
  const choices = choicesOf(models["availableModels"], "modelId");
  if (choices.length === 0) return undefined;
  const setting = { method: "session/set_model", params: (modelId: string) => ({ modelId }) };
  return { current: stringOf(models["currentModelId"]) || undefined, choices, setting };
}

/** Options may be in groups. */
function choicesOf(options: unknown, key: "value" | "modelId"): Choice[] {
  return listOf(options)
    .map(recordOf)
    .flatMap((option) =>
      Array.isArray(option["options"])
        ? choicesOf(option["options"], key)
        : [{ value: stringOf(option[key]), name: stringOf(option["name"]) }],
    );
}

/** Without provider, effort, date and case: `anthropic/Claude-Opus-5-5[1m]` is `claude-opus-5-5`. */
function plain(model: string): string {
  return model
    .replace(/^.*\//, "")
    .replace(/\[[^\]]*\]$/, "")
    .replace(/[-@](?:\d{8}|latest)$/, "")
    .toLowerCase();
}

export function isSameModel(one: string, other: string): boolean {
  return one === other || plain(one) === plain(other);
}

/** The agent's value for a model; undefined when its list has none. */
export function choiceFor(model: string, { choices }: SessionModel): string | undefined {
  const found =
    choices.find(({ value }) => value === model) ??
    choices.find(({ value, name }) => isSameModel(value, model) || isSameModel(name, model));
  return found?.value;
}

/** The session's own current model is the one asked for. */
export function isCurrent(model: SessionModel, asked: string): boolean {
  const { current, setFor } = model;
  return (
    current !== undefined && (current === choiceFor(asked, model) || current === asked || setFor === asked)
  );
}

/** Models of the requests that an agent reports with the end of a prompt or with its usage, the one with most tokens first. */
export function modelsReported({ _meta }: Fields): string[] {
  const meta = recordOf(_meta);
  const used = listOf(recordOf(meta["quota"])["model_usage"]).map(recordOf);
  const sizeOf = ({ token_count }: Fields): number => {
    const { totalTokens, input_tokens, output_tokens } = recordOf(token_count);
    return countOf(totalTokens) ?? (countOf(input_tokens) ?? 0) + (countOf(output_tokens) ?? 0);
  };
  const named = used.toSorted((a, b) => sizeOf(b) - sizeOf(a)).map(({ model }) => stringOf(model));
  return [stringOf(meta["_claude/model"]), ...named].filter((model) => model !== "");
}

/** How a message of the transcript names its model. */
export interface Recorded {
  provider: string;
  model: string;
}

/** Which model ran in a turn: what the agent reports of its requests, else what its session is set to. */
export class RanModel {
  readonly #asked: AskedModel;
  readonly #turn: Pick<ModelInfo, "provider" | "id">;
  readonly #reported: string[] = [];
  session: SessionModel | undefined;

  constructor(asked: AskedModel, turn: Pick<ModelInfo, "provider" | "id">) {
    this.#asked = asked;
    this.#turn = turn;
  }

  report(models: readonly string[]): void {
    this.#reported.push(...models);
  }

  /** Undefined when the agent does not report it; the asked one where that ran. */
  get id(): string | undefined {
    const { id, isNamed } = this.#asked;
    const { session } = this;
    const first = this.#reported.find((model) => isSameModel(model, id)) ?? this.#reported[0];
    if (first !== undefined) return isSameModel(first, this.#turn.id) ? this.#turn.id : first;
    if (this.#isAlias) return id;
    if (session?.current !== undefined && isCurrent(session, id)) return this.#own(id);
    if (isNamed) return this.#own(id);
    return session?.current === undefined ? undefined : shown(session, session.current);
  }

  /** The model differs from the asked one, or is unknown. */
  get isOther(): boolean {
    const { id } = this;
    if (id === undefined) return true;
    return !isSameModel(id, this.#asked.id) && !this.#isAlias;
  }

  /** The user's settings name a value of the agent's list, such as `opus`. */
  get #isAlias(): boolean {
    const { id } = this.#asked;
    return this.session?.current === id && !isSameModel(id, this.#turn.id);
  }

  get recorded(): Recorded {
    const { provider, id } = this.#turn;
    const ran = this.id ?? id;
    if (ran === id) return { provider, model: id };
    const slash = ran.indexOf("/");
    return slash > 0
      ? { provider: ran.slice(0, slash), model: ran.slice(slash + 1) }
      : { provider, model: ran };
  }

  #own(id: string): string {
    return isSameModel(id, this.#turn.id) ? this.#turn.id : id;
  }
}

/** Name of a value of the list: the value, unless it is only an internal one, as in Qwen Code. */
function shown({ choices }: SessionModel, value: string): string {
  const name = choices.find((choice) => choice.value === value)?.name ?? "";
  return value.startsWith("$") && name !== "" ? name : value.replace(/\[[^\]]*\]$/, "");
}

/** Dollars of a usage at the prices of a model; undefined when they are unknown. */
export type CostOf = (ref: string, usage: Usage) => number | undefined;

/** Why a turn's model is not the asked one, for its degradation. */
export function otherModel(label: string, { id: asked }: AskedModel, ran: string | undefined): string {
  return ran === undefined
    ? `${label} does not report which model it runs and cannot be set to ${asked}; the turn is recorded as ${asked}.`
    : `${label} ran the model ${ran} and not ${asked}, to which it cannot be set; the turn is recorded as ${ran}.`;
}
