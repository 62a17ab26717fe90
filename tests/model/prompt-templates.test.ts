import { afterAll, beforeAll, describe, expect, setSystemTime, test } from "bun:test";
import {
  type ChatWrapper,
  type LlamaModel,
  resolveChatWrapper,
  SpecialTokensText,
} from "node-llama-cpp";
import { type PromptTemplateName, promptTemplateNames } from "../../src/core/models/model.ts";
import type { ChatMessage } from "../../src/core/ports/chat-engine.ts";
import { toChatHistory } from "../../src/engine/prompt/chat-history.ts";
import { chatWrapperFor } from "../../src/engine/prompt/prompt-template.ts";
import { testBackend } from "../support/tiny-engines.ts";
import { tinyModels } from "../support/tiny-models.ts";

/** Three turns with a system message. */
const messages: ChatMessage[] = [
  { role: "system", content: "Be brief." },
  { role: "user", content: "One?" },
  { role: "assistant", content: "1." },
  { role: "user", content: "Two?" },
  { role: "assistant", content: "2." },
  { role: "user", content: "Three?" },
];

const lines = (...parts: readonly string[]): string => parts.join("\n");

/** `<s>` and `</s>` are the tiny model's own begin and end. */
const prompts: Record<Exclude<PromptTemplateName, "auto">, string> = {
  alpaca: lines(
    "<s>Be brief.",
    "",
    "### Instruction:",
    "One?",
    "",
    "### Response:",
    "1.",
    "",
    "### Instruction:",
    "Two?",
    "",
    "### Response:",
    "2.",
    "",
    "### Instruction:",
    "Three?",
    "",
    "### Response:",
    "",
  ),
  chatml: lines(
    "<s><|im_start|>system",
    "Be brief.<|im_end|>",
    "<|im_start|>user",
    "One?<|im_end|>",
    "<|im_start|>assistant",
    "1.<|im_end|>",
    "<|im_start|>user",
    "Two?<|im_end|>",
    "<|im_start|>assistant",
    "2.<|im_end|>",
    "<|im_start|>user",
    "Three?<|im_end|>",
    "<|im_start|>assistant",
    "",
  ),
  "deepseek-chat":
    "<s>Be brief.<｜User｜>One?<｜Assistant｜>1.<｜end▁of▁sentence｜><｜User｜>Two?<｜Assistant｜>2.<｜end▁of▁sentence｜><｜User｜>Three?<｜Assistant｜>",
  "falcon-chat": lines(
    "<s>Be brief.",
    "",
    "User: One?",
    "",
    "Assistant: 1.",
    "",
    "User: Two?",
    "",
    "Assistant: 2.",
    "",
    "User: Three?",
    "",
    "Assistant: ",
  ),
  "gemma-instruct": lines(
    "<s><start_of_turn>user",
    "Be brief.",
    "",
    "---",
    "",
    "One?<end_of_turn>",
    "<start_of_turn>model",
    "1.<end_of_turn>",
    "<start_of_turn>user",
    "Two?<end_of_turn>",
    "<start_of_turn>model",
    "2.<end_of_turn>",
    "<start_of_turn>user",
    "Three?<end_of_turn>",
    "<start_of_turn>model",
    "",
  ),
  "gpt-oss": lines(
    "<|start|>system<|message|>You are ChatGPT, a large language model trained by OpenAI.",
    "Knowledge cutoff: 2024-06",
    "Current date: 2026-11-02",
    "",
    "Reasoning: medium",
    "",
    "# Valid channels: analysis, commentary, final. Channel must be included for every message.<|end|><|start|>developer<|message|># Instruction",
    "",
    "Be brief.<|end|><|start|>user<|message|>One?<|end|><|start|>assistant<|channel|>final<|message|>1.<|end|><|start|>user<|message|>Two?<|end|><|start|>assistant<|channel|>final<|message|>2.<|end|><|start|>user<|message|>Three?<|end|><|start|>assistant",
  ),
  "llama-2-chat": lines(
    "<s>[INST] <<SYS>>",
    "Be brief.",
    "<</SYS>>",
    "",
    "One? [/INST] 1.</s><s>[INST] Two? [/INST] 2.</s><s>[INST] Three? [/INST] ",
  ),
  "llama-3-chat": lines(
    "<s><|start_header_id|>system<|end_header_id|>",
    "",
    "Be brief.<|eot_id|><|start_header_id|>user<|end_header_id|>",
    "",
    "One?<|eot_id|><|start_header_id|>assistant<|end_header_id|>",
    "",
    "1.<|eot_id|><|start_header_id|>user<|end_header_id|>",
    "",
    "Two?<|eot_id|><|start_header_id|>assistant<|end_header_id|>",
    "",
    "2.<|eot_id|><|start_header_id|>user<|end_header_id|>",
    "",
    "Three?<|eot_id|><|start_header_id|>assistant<|end_header_id|>",
    "",
    "",
  ),
  "llama-3.1-chat": lines(
    "<s><|start_header_id|>system<|end_header_id|>",
    "",
    "Cutting Knowledge Date: December 2023",
    "Today Date: 2 Nov 2026",
    "",
    "# Tool Instructions",
    "- When looking for real time information use relevant functions if available",
    "",
    "",
    "",
    "Be brief.<|eot_id|><|start_header_id|>user<|end_header_id|>",
    "",
    "One?<|eot_id|><|start_header_id|>assistant<|end_header_id|>",
    "",
    "1.<|eot_id|><|start_header_id|>user<|end_header_id|>",
    "",
    "Two?<|eot_id|><|start_header_id|>assistant<|end_header_id|>",
    "",
    "2.<|eot_id|><|start_header_id|>user<|end_header_id|>",
    "",
    "Three?<|eot_id|><|start_header_id|>assistant<|end_header_id|>",
    "",
    "",
  ),
  // The system message is said with the last question, as this family does.
  "mistral-instruct": lines(
    "<s>[INST]One?[/INST]1.</s>[INST]Two?[/INST]2.</s>[INST]Be brief.",
    "",
    "Three?[/INST]",
  ),
  "phi-3-chat": lines(
    "<|system|>",
    "Be brief.<|end|>",
    "<|user|>",
    "One?<|end|>",
    "<|assistant|>",
    "1.<|end|>",
    "<|user|>",
    "Two?<|end|>",
    "<|assistant|>",
    "2.<|end|>",
    "<|user|>",
    "Three?<|end|>",
    "<|assistant|>",
    "",
  ),
  qwen: lines(
    "<|im_start|>system",
    "Be brief.<|im_end|>",
    "<|im_start|>user",
    "One?<|im_end|>",
    "<|im_start|>assistant",
    "1.<|im_end|>",
    "<|im_start|>user",
    "Two?<|im_end|>",
    "<|im_start|>assistant",
    "2.<|im_end|>",
    "<|im_start|>user",
    "Three?<|im_end|>",
    "<|im_start|>assistant",
    "",
  ),
  // The model writes the space after the last colon.
  "vicuna-1.1-chat":
    "Be brief. USER: One? ASSISTANT: 1.</s>USER: Two? ASSISTANT: 2.</s>USER: Three? ASSISTANT: ",
  zephyr: lines(
    "<|system|>",
    "Be brief.</s>",
    "<|user|>",
    "One?</s>",
    "<|assistant|>",
    "1.</s>",
    "<|user|>",
    "Two?</s>",
    "<|assistant|>",
    "2.</s>",
    "<|user|>",
    "Three?</s>",
    "<|assistant|>",
    "",
  ),
};

let model: LlamaModel;

beforeAll(async () => {
  const [{ llama }, { chat }] = await Promise.all([testBackend(), tinyModels()]);
  model = await llama.loadModel({ modelPath: chat });
  setSystemTime(new Date(2026, 10, 2, 12));
});
afterAll(async () => {
  setSystemTime();
  await model.dispose();
});

/** The prompt with its special tokens written out. */
const textOf = (wrapper: ChatWrapper): string =>
  wrapper
    .generateContextState({ chatHistory: toChatHistory(messages) })
    .contextText.values.map((value) => {
      if (typeof value === "string") return value;
      if (value instanceof SpecialTokensText) return value.value;
      return model.detokenize(value.tokenize(model.tokenizer), true);
    })
    .join("");

describe("the prompt of three turns with a system message", () => {
  test.each(Object.entries(prompts))("in the template %s", (name, prompt) => {
    const known = promptTemplateNames.find((other) => other === name);
    if (known === undefined) throw new Error(`There is no template '${name}'`);
    expect(textOf(chatWrapperFor(known, model))).toBe(prompt);
  });

  test("is the model's own in the template auto", () => {
    expect(textOf(chatWrapperFor("auto", model))).toBe(
      "<|system|>Be brief.</s><|user|>One?</s><|assistant|>1.</s><|user|>Two?</s><|assistant|>2.</s><|user|>Three?</s><|assistant|>",
    );
  });

  test("is in the template auto what the library would find after trying all of its own", () => {
    const found = resolveChatWrapper(model, { warningLogs: false });
    const wrapper = chatWrapperFor("auto", model);
    expect([wrapper.wrapperName, wrapper.settings]).toEqual([found.wrapperName, found.settings]);
    expect(textOf(wrapper)).toBe(textOf(found));
  });
});
