/**
 * One sample of each type of item, part and block that the published protocols have in requests: `openai` 7.59 (`ResponseInputItem`,
 * `ResponseInputContent`, `ChatCompletionContentPart`), `@anthropic-ai/sdk` 1.14 (`BetaContentBlockParam`).
 */

export interface Sample {
  type: string;
  value: Record<string, unknown>;
  /** Text that reaches a model of another protocol; absent: the request is refused by the type's name. */
  seen?: RegExp | "dropped";
}

const PNG = "iVBORw0KGgo=";

function sample(type: string, fields: Record<string, unknown>, seen?: Sample["seen"]): Sample {
  return { type, value: { type, ...fields }, ...(seen ? { seen } : {}) };
}

/** Those that call and answer need their pair, which follows. */
export const RESPONSES_ITEMS: readonly Sample[] = [
  sample("message", { role: "user", content: [{ type: "input_text", text: "seen-words" }] }, /seen-words/),
  sample("function_call", { call_id: "c1", name: "look", arguments: '{"at":"seen-call"}' }, /seen-call/),
  sample("function_call_output", { call_id: "c1", output: "seen-output" }, /seen-output/),
  sample("custom_tool_call", { call_id: "c2", name: "patch", input: "seen-custom" }, /seen-custom/),
  sample("custom_tool_call_output", { call_id: "c2", output: "seen-result" }, /seen-result/),
  sample(
    "local_shell_call",
    {
      id: "ls1",
      call_id: "c3",
      status: "completed",
      action: { type: "exec", command: ["seen-shell"], env: {} },
    },
    /seen-shell/,
  ),
  sample(
    "local_shell_call_output",
    { id: "ls2", call_id: "c3", output: "seen-shell-output" },
    /seen-shell-output/,
  ),
  sample(
    "tool_search_call",
    { call_id: "c4", execution: "client", arguments: { q: "seen-search" } },
    /seen-search/,
  ),
  sample(
    "tool_search_output",
    { call_id: "c4", execution: "client", tools: [{ type: "function", name: "seen_tool", parameters: {} }] },
    /seen_tool/,
  ),
  sample(
    "additional_tools",
    { role: "developer", tools: [{ type: "function", name: "more_tool" }] },
    /more_tool/,
  ),
  sample("reasoning", { id: "rs_1", summary: [{ type: "summary_text", text: "Hm." }] }, "dropped"),
  sample("file_search_call", { id: "fs1", status: "completed", queries: ["q"] }),
  sample("computer_call", { id: "cc1", call_id: "c5", status: "completed", pending_safety_checks: [] }),
  sample("computer_call_output", { call_id: "c5", output: { type: "computer_screenshot", image_url: "x" } }),
  sample("web_search_call", { id: "ws1", status: "completed", action: { type: "search", query: "q" } }),
  sample("configuration_update", { reasoning: { effort: "low" } }),
  sample("compaction", { id: "cm1", encrypted_content: "sealed by another server" }),
  sample("image_generation_call", { id: "ig1", status: "completed", result: PNG }),
  sample("code_interpreter_call", {
    id: "ci1",
    status: "completed",
    code: "1",
    container_id: "x",
    outputs: [],
  }),
  sample("shell_call", { call_id: "c6", action: { commands: ["ls"] } }),
  sample("shell_call_output", {
    call_id: "c6",
    output: [{ stdout: "", stderr: "", outcome: { type: "exit" } }],
  }),
  sample("apply_patch_call", { call_id: "c7", status: "completed", operation: { type: "delete_file" } }),
  sample("apply_patch_call_output", { call_id: "c7", status: "completed" }),
  sample("mcp_list_tools", { id: "ml1", server_label: "s", tools: [] }),
  sample("mcp_approval_request", { id: "ma1", server_label: "s", name: "n", arguments: "{}" }),
  sample("mcp_approval_response", { approval_request_id: "ma1", approve: true }),
  sample("mcp_call", { id: "mc1", server_label: "s", name: "n", arguments: "{}" }),
  sample("program", { id: "p1", call_id: "c8", code: "1", fingerprint: "f" }),
  sample("program_output", { id: "p2", call_id: "c8", result: "1", status: "completed" }),
];

export const RESPONSES_PARTS: readonly Sample[] = [
  sample("input_text", { text: "seen-part" }, /seen-part/),
  sample("input_image", { image_url: `data:image/png;base64,${PNG}` }, /iVBORw0KGgo/),
  sample(
    "input_file",
    { filename: "a.pdf", file_data: "data:application/pdf;base64,JVBERi0=" },
    /"document".*JVBERi0=/,
  ),
  sample("input_audio", { input_audio: { data: "AAAA", format: "wav" } }),
];
/** Parts of which a model of another protocol cannot get this form. */
export const RESPONSES_FORMS: readonly Sample[] = [
  sample("input_image", { image_url: "https://example.com/a.png" }),
  sample("input_image", { file_id: "file-1" }),
];

export const CHAT_PARTS: readonly Sample[] = [
  sample("text", { text: "seen-part" }, /seen-part/),
  sample("image_url", { image_url: { url: `data:image/png;base64,${PNG}` } }, /iVBORw0KGgo/),
  sample("image_url", { image_url: { url: "https://example.com/a.png" } }),
  sample("input_audio", { input_audio: { data: "AAAA", format: "wav" } }),
  sample(
    "file",
    { file: { filename: "a.pdf", file_data: "data:application/pdf;base64,JVBERi0=" } },
    /"document".*JVBERi0=/,
  ),
];

/** In a message of the user. */
export const USER_BLOCKS: readonly Sample[] = [
  sample("text", { text: "seen-block" }, /seen-block/),
  sample("image", { source: { type: "base64", media_type: "image/png", data: PNG } }, /iVBORw0KGgo/),
  sample("image", { source: { type: "url", url: "https://example.com/a.png" } }),
  sample(
    "document",
    { source: { type: "text", media_type: "text/plain", data: "seen-document" } },
    /seen-document/,
  ),
  sample(
    "document",
    { source: { type: "base64", media_type: "application/pdf", data: "JVBERi0=" } },
    /"file_data".*JVBERi0=/,
  ),
  sample("search_result", { source: "s", title: "t", content: [{ type: "text", text: "x" }] }),
  sample("container_upload", { file_id: "f" }),
  sample("tool_addition", { tool: { name: "x" } }),
  sample("tool_removal", { tool_name: "x" }),
  sample("mcp_tool_listing", { server_name: "s", tools: [] }),
];

/** In an answer of the model. */
export const ANSWER_BLOCKS: readonly Sample[] = [
  sample("text", { text: "seen-answer" }, /seen-answer/),
  sample("thinking", { thinking: "Hm.", signature: "s" }, "dropped"),
  sample("redacted_thinking", { data: "x" }, "dropped"),
  sample("server_tool_use", { id: "st1", name: "web_search", input: {} }),
  sample("web_search_tool_result", { tool_use_id: "st1", content: [] }),
  sample("web_fetch_tool_result", { tool_use_id: "st1", content: { type: "web_fetch_result", url: "u" } }),
  sample("advisor_tool_result", { tool_use_id: "st1", content: {} }),
  sample("code_execution_tool_result", { tool_use_id: "st1", content: {} }),
  sample("bash_code_execution_tool_result", { tool_use_id: "st1", content: {} }),
  sample("text_editor_code_execution_tool_result", { tool_use_id: "st1", content: {} }),
  sample("tool_search_tool_result", { tool_use_id: "st1", content: {} }),
  sample("mcp_tool_use", { id: "mt1", name: "n", server_name: "s", input: {} }),
  sample("mcp_tool_result", { tool_use_id: "mt1", content: [] }),
  sample("fallback", { model: "m" }),
];
