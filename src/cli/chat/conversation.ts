/** The conversation so far, with its model and system prompt, as it is sent to the server and saved into a file. */

interface Message {
  role: "system" | "user" | "assistant";
  content: string;
}

export class Conversation {
  model: string;
  system: string | undefined;
  readonly #turns: Message[] = [];

  constructor(model: string, system: string | undefined) {
    this.model = model;
    this.system = system;
  }

  /** What the server is sent, with a question that is not yet part of it. */
  with(question: string): Message[] {
    return [...this.messages(), { role: "user", content: question }];
  }

  messages(): Message[] {
    const { system } = this;
    return [
      ...(system === undefined ? [] : [{ role: "system", content: system } as const]),
      ...this.#turns,
    ];
  }

  /** Keeps a question with its answer; a question that has none is forgotten. */
  keep(question: string, answer: string): void {
    if (answer === "") return;
    this.#turns.push({ role: "user", content: question }, { role: "assistant", content: answer });
  }

  clear(): void {
    this.#turns.length = 0;
  }
}

const titles = { system: "System", user: "You", assistant: "Answer" } as const;

export function toMarkdown({
  model,
  messages,
}: {
  model: string;
  messages: readonly Message[];
}): string {
  const parts = messages.map(({ role, content }) => `## ${titles[role]}\n\n${content.trim()}`);
  return `${[`# Chat with ${model}`, ...parts].join("\n\n")}\n`;
}
