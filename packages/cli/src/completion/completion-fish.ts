import type { CompletionNode } from "./completion-tree.ts";

const quote = (text: string): string => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;

/** Condition for a node's completions: its words were typed, and no subcommand of it. */
function condition(node: CompletionNode): string {
  const names = node.subcommands.map((child) => child.name).join(" ");
  const none = names === "" ? "" : `not __fish_seen_subcommand_from ${names}`;
  const seen = node.path
    .split(" ")
    .filter((word) => word !== "")
    .map((word) => `__fish_seen_subcommand_from ${word}`);
  if (node.path === "") return quote(`__fish_use_subcommand`);
  return quote([...seen, ...(none === "" ? [] : [none])].join("; and "));
}

function linesOf(node: CompletionNode): string[] {
  const start = `complete -c pagurus -n ${condition(node)}`;
  const commands = node.subcommands.map(
    (child) => `${start} -f -a ${child.name} -d ${quote(child.description)}`,
  );
  const words = node.words.length > 0 ? [`${start} -f -a ${quote(node.words.join(" "))}`] : [];
  const files = node.files ? [`${start} -F`] : [];
  const options = node.options.map((option) => {
    const short = option.short === undefined ? "" : ` -s ${option.short.slice(1)}`;
    const value = option.takes === "nothing" ? "" : option.takes === "text" ? " -x" : " -r";
    const folder =
      option.takes === "folder"
        ? " -f -a '(__fish_complete_directories)'"
        : option.takes === "file"
          ? " -F"
          : "";
    const choices = option.choices.length > 0 ? ` -a ${quote(option.choices.join(" "))}` : "";
    return `${start}${short} -l ${option.long.slice(2)}${value}${folder}${choices} -d ${quote(option.description)}`;
  });
  return [...commands, ...words, ...files, ...options];
}

export function fishScript(tree: readonly CompletionNode[]): string {
  return [
    "# fish completion for pagurus; made by: pagurus completion fish",
    "complete -c pagurus -f",
    ...tree.flatMap(linesOf),
    "",
  ].join("\n");
}
