import { posixQuoted, type CompletionNode, type CompletionOption } from "./completion-tree.ts";

function flagsOf(option: CompletionOption): string[] {
  return option.short === undefined ? [option.long] : [option.short, option.long];
}

/** Case branch that completes the value of an option; none where any text is valid. */
function valueCase(path: string, option: CompletionOption): string[] {
  const patterns = flagsOf(option)
    .map((flag) => posixQuoted(`${path} ${flag}`))
    .join("|");
  if (option.choices.length > 0) {
    return [
      `    ${patterns}) COMPREPLY=($(compgen -W ${posixQuoted(option.choices.join(" "))} -- "$cur")); return ;;`,
    ];
  }
  if (option.takes === "file") return [`    ${patterns}) COMPREPLY=($(compgen -f -- "$cur")); return ;;`];
  if (option.takes === "folder") return [`    ${patterns}) COMPREPLY=($(compgen -d -- "$cur")); return ;;`];
  return option.takes === "text" ? [`    ${patterns}) return ;;`] : [];
}

/** Completion for bash 3.2 and later. */
export function bashScript(tree: readonly CompletionNode[]): string {
  const paths = tree.filter((node) => node.path !== "").map((node) => posixQuoted(node.path));
  const values = tree.flatMap((node) => node.options.flatMap((option) => valueCase(node.path, option)));
  const words = tree.map((node) => {
    const all = [
      ...node.subcommands.map((child) => child.name),
      ...node.words,
      ...node.options.flatMap(flagsOf),
    ];
    const files = node.files ? ' COMPREPLY+=($(compgen -f -- "$cur"));' : "";
    return `    ${posixQuoted(node.path)}) COMPREPLY=($(compgen -W ${posixQuoted(all.join(" "))} -- "$cur"));${files} ;;`;
  });
  return `# bash completion for pagurus; made by: pagurus completion bash
_pagurus() {
  local cur prev path word index
  cur="\${COMP_WORDS[COMP_CWORD]}"
  prev="\${COMP_WORDS[COMP_CWORD-1]}"
  path=""
  for ((index = 1; index < COMP_CWORD; index++)); do
    word="\${path:+$path }\${COMP_WORDS[index]}"
    case "$word" in
      ${paths.join("|")}) path="$word" ;;
    esac
  done
  COMPREPLY=()
  case "$path $prev" in
${values.join("\n")}
  esac
  case "$path" in
${words.join("\n")}
  esac
}
complete -o filenames -F _pagurus pagurus
`;
}
