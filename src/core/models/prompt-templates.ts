/** The names that `prompt_template` takes. */

export const promptTemplateNames = [
  "auto",
  "alpaca",
  "chatml",
  "deepseek-chat",
  "falcon-chat",
  "gemma-instruct",
  "gpt-oss",
  "llama-2-chat",
  "llama-3-chat",
  "llama-3.1-chat",
  "mistral-instruct",
  "phi-3-chat",
  "qwen",
  "vicuna-1.1-chat",
  "zephyr",
] as const;

export type PromptTemplateName = (typeof promptTemplateNames)[number];
