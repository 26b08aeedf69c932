/** A permission question in place of the input: what would run, and an answer by one key, by the arrows, or in words. */
import { matchesKey, wrapTextWithAnsi } from "@earendil-works/pi-tui";
import type { PermissionAnswer, PermissionQuestion } from "@pagurus/contract/host/run";
import { oneLine } from "@pagurus/host/command/layout";
import { plural } from "@pagurus/core/data/plain-numbers";
import { escapedUnseen } from "@pagurus/core/data/plain-text";
import { linesAtMost, readQuestionAnswer } from "../chat/permission-prompt.ts";
import { InputPanel } from "./input-panel.ts";
import type { Theme } from "./theme.ts";

/** Lines of the summary and of the preview in a large window. */
const SUMMARY_LINES = 8;
const PREVIEW_LINES = 24;

interface Choice {
  key: string;
  label: string;
  answer: PermissionAnswer;
}

function choicesOf({ rule, similar, form, accept }: PermissionQuestion): Choice[] {
  if (form) {
    return [
      { key: "y", label: escapedUnseen(accept?.label ?? "Send what is shown"), answer: "once" },
      { key: "n", label: accept ? "Stop" : "No", answer: "deny" },
    ];
  }
  const always = rule === undefined ? "Always here" : `Always: ${escapedUnseen(oneLine(rule, 300))}`;
  return [
    { key: "y", label: "Yes, once", answer: "once" },
    { key: "a", label: always, answer: "always" },
    ...(similar === undefined
      ? []
      : [{ key: "s", label: `Always: ${escapedUnseen(oneLine(similar, 300))}`, answer: "similar" as const }]),
    { key: "n", label: "No", answer: "deny" },
  ];
}

export class QuestionPanel extends InputPanel {
  readonly #question: PermissionQuestion;
  readonly #theme: Theme;
  readonly #rows: () => number;
  readonly #choices: readonly Choice[];
  readonly #done: (answer: PermissionAnswer) => void;
  #selected = 0;
  /** The person types an answer in words. */
  #isTyping = false;
  #problem = "";

  /** `rows`: height of the terminal. */
  constructor(
    question: PermissionQuestion,
    { theme, rows, done }: { theme: Theme; rows: () => number; done: (answer: PermissionAnswer) => void },
  ) {
    super();
    this.#question = question;
    this.#theme = theme;
    this.#rows = rows;
    this.#choices = choicesOf(question);
    this.#done = done;
    this.input.onSubmit = (line) => this.#typed(line);
    this.input.onEscape = () => {
      this.#isTyping = false;
      this.#problem = "";
    };
  }

  handleInput(data: string): void {
    if (this.#isTyping) return this.input.handleInput(data);
    if (matchesKey(data, "up")) return this.#move(-1);
    if (matchesKey(data, "down")) return this.#move(1);
    if (matchesKey(data, "enter")) return this.#choose(this.#choices[this.#selected]);
    if (matchesKey(data, "escape") || matchesKey(data, "ctrl+c")) return this.#done("deny");
    const byKey = this.#choices.find(({ key }) => key === data.toLowerCase());
    if (byKey) return this.#choose(byKey);
    const byNumber = /^[1-9]$/.test(data) ? this.#choices[Number(data) - 1] : undefined;
    if (byNumber) return this.#choose(byNumber);
    if (matchesKey(data, "tab")) this.#isTyping = true;
    else if (/^[^\u0000-\u001f\u007f]/.test(data)) {
      this.#isTyping = true;
      this.input.handleInput(data);
    }
    return undefined;
  }

  #move(by: number): void {
    this.#selected = (this.#selected + by + this.#choices.length) % this.#choices.length;
  }

  #choose(choice: Choice | undefined): void {
    if (!choice) return;
    this.#end(this.#question.form ? readQuestionAnswer(this.#question, choice.key) : choice.answer);
  }

  #typed(line: string): void {
    if (line.trim() === "") {
      this.#isTyping = false;
      return;
    }
    // A word such as "yes" that is typed out is meant as one.
    this.#end(readQuestionAnswer(this.#question, line));
  }

  #end(read: PermissionAnswer | { problem: string }): void {
    if (typeof read !== "string" && "problem" in read) {
      this.#problem = read.problem;
      return;
    }
    this.#done(read);
  }

  render(width: number): readonly string[] {
    const { bold, dim, warning, accent, bad } = this.#theme;
    const { toolName, cwd, form, accept } = this.#question;
    const wrap = (line: string): string[] => wrapTextWithAnsi(line, Math.max(1, width));
    const asked = accept ? `A ${oneLine(toolName, 60)} is reached` : "Values are asked for";
    const title = form ? asked : `Allow ${oneLine(toolName, 60)} in ${oneLine(cwd, 200)}?`;
    const above = [warning("─".repeat(width)), ...wrap(warning(title))];
    const choices = this.#choices.map(({ key, label }, index) =>
      index === this.#selected && !this.#isTyping
        ? accent(`❯ ${bold(`[${key}]`)} ${label}`)
        : `  ${dim(`[${key}]`)} ${label}`,
    );
    const hint = this.#isTyping
      ? [dim(form ? "name=value, name=value" : "What to do instead"), ...this.input.render(width)]
      : [dim(form ? "or type values as name=value, name=value" : "or type what to do instead")];
    const below = [
      ...choices.flatMap(wrap),
      ...(this.#problem === "" ? [] : wrap(bad(this.#problem))),
      ...hint,
    ];
    return [...above, ...this.#shown(wrap, this.#rows() - above.length - below.length - 1), ...below];
  }

  /** The summary and the preview, in at most so many lines. */
  #shown(wrap: (line: string) => string[], most: number): string[] {
    const { summary, preview } = this.#question;
    const lines = linesAtMost(summary, SUMMARY_LINES, "  ").flatMap(wrap);
    if (preview !== undefined && preview.trim() !== summary.trim())
      lines.push(...linesAtMost(preview, PREVIEW_LINES, "  │ ").flatMap(wrap));
    const fits = Math.max(2, most);
    if (lines.length <= fits) return lines;
    return [
      ...lines.slice(0, fits - 1),
      this.#theme.dim(`  … ${plural(lines.length - fits + 1, "more line")}`),
    ];
  }
}
