/** What becomes of the fields of requests, by an example of each. */
import type { FieldExample } from "../../support/field-examples.ts";

export const tokenizeExamples: readonly FieldExample[] = [
  ["model", "honoured", "chatty"],
  ["prompt", "honoured", "Hello"],
  ["content", "honoured", "Hello"],
  ["messages", "honoured", [{ role: "user", content: "Hello" }]],
  ["messages[].role", "honoured", "user"],
  ["messages[].content", "honoured", "Good day"],
  [
    "messages[].tool_calls",
    "honoured",
    [{ id: "call_1", type: "function", function: { name: "look_up", arguments: '{"at": 1}' } }],
  ],
  ["messages[].tool_call_id", "honoured", "call_1"],
  ["messages[].name", "ignored", "ada"],
  ["messages[].refusal", "accepted", "I cannot help with that."],
  ["messages[].annotations", "accepted", []],
  ["messages[].reasoning_content", "accepted", "They greet me."],
  ["messages[].audio", "rejected", { id: "audio_1" }],
  ["messages[].function_call", "rejected", { name: "look_up", arguments: "{}" }],
  ["tools", "honoured", [{ type: "function", function: { name: "look_up" } }]],
  ["tools[].function.name", "honoured", "look"],
  ["tools[].function.description", "honoured", "Looks something up."],
  [
    "tools[].function.parameters",
    "honoured",
    { type: "object", properties: { at: { type: "string" } } },
  ],
  ["tools[].function.strict", "accepted", true],
  ["add_special_tokens", "honoured", false],
  ["add_special", "honoured", false],
  ["parse_special", "honoured", false],
  ["return_token_strs", "honoured", true],
  ["with_pieces", "honoured", true],
  ["add_generation_prompt", "accepted", true],
  ["add_generation_prompt", "rejected", false],
  ["continue_final_message", "accepted", false],
  ["continue_final_message", "rejected", true],
  ["chat_template", "rejected", "{{ messages }}"],
  ["chat_template_kwargs", "rejected", { thinking: true }],
  ["documents", "rejected", [{ text: "Llamas hum." }]],
  ["mm_processor_kwargs", "ignored", { fps: 1 }],
];

export const detokenizeExamples: readonly FieldExample[] = [
  ["model", "honoured", "chatty"],
  ["tokens", "honoured", [5, 6]],
  ["skip_special_tokens", "ignored", true],
];
