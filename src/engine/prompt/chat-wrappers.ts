/** Prompt templates by name, as node-llama-cpp's chat wrappers. */
import {
  AlpacaChatWrapper,
  ChatMLChatWrapper,
  type ChatWrapper,
  DeepSeekChatWrapper,
  FalconChatWrapper,
  GemmaChatWrapper,
  HarmonyChatWrapper,
  JinjaTemplateChatWrapper,
  Llama2ChatWrapper,
  Llama3_1ChatWrapper,
  Llama3ChatWrapper,
  type LlamaModel,
  MistralChatWrapper,
  QwenChatWrapper,
  resolveChatWrapper,
} from "node-llama-cpp";
import type { PromptTemplateName } from "../../core/models/model.ts";

const wrappers: Record<PromptTemplateName, (model: LlamaModel) => ChatWrapper> = {
  auto: ownWrapper,
  alpaca: () => new AlpacaChatWrapper(),
  chatml: () => new ChatMLChatWrapper(),
  "deepseek-chat": () => new DeepSeekChatWrapper(),
  "falcon-chat": () => new FalconChatWrapper(),
  "gemma-instruct": () => new GemmaChatWrapper(),
  "gpt-oss": () => new HarmonyChatWrapper(),
  "llama-2-chat": () => new Llama2ChatWrapper(),
  "llama-3-chat": () => new Llama3ChatWrapper(),
  "llama-3.1-chat": () => new Llama3_1ChatWrapper(),
  "mistral-instruct": () => new MistralChatWrapper(),
  "phi-3-chat": () =>
    jinja(
      "{% for message in messages %}{{ '<|' + message['role'] + '|>\\n' + message['content'] + '<|end|>\\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>\\n' }}{% endif %}",
    ),
  qwen: () => new QwenChatWrapper(),
  "vicuna-1.1-chat": () =>
    jinja(
      "{% for message in messages %}{% if message['role'] == 'system' %}{{ message['content'] + ' ' }}{% elif message['role'] == 'user' %}{{ 'USER: ' + message['content'] + ' ' }}{% else %}{{ 'ASSISTANT: ' + message['content'] + '</s>' }}{% endif %}{% endfor %}{% if add_generation_prompt %}{{ 'ASSISTANT: ' }}{% endif %}",
    ),
  zephyr: () =>
    jinja(
      "{% for message in messages %}{{ '<|' + message['role'] + '|>\\n' + message['content'] + '</s>\\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>\\n' }}{% endif %}",
    ),
};

/** No wrapper of the library writes this marker, and to try them all would take up to a second: the template is taken as it is. */
const unknownToWrappers = "<|user|>";

function ownWrapper(model: LlamaModel): ChatWrapper {
  const template = model.fileInfo.metadata.tokenizer.chat_template;
  const type = template?.includes(unknownToWrappers) === true ? "jinjaTemplate" : "auto";
  return resolveChatWrapper(model, { type, warningLogs: false });
}

export function chatWrapperFor(name: PromptTemplateName, model: LlamaModel): ChatWrapper {
  return wrappers[name](model);
}

const jinja = (template: string): ChatWrapper => new JinjaTemplateChatWrapper({ template });
