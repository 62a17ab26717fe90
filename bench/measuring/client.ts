/** Drives a server of the OpenAI API over HTTP, as a user's program would. */

export interface ChatServer {
  baseUrl: string;
  model: string;
}

export interface Answered {
  tokens: number;
  /** To the first piece of text; the whole time where no text came. */
  firstMs: number;
  totalMs: number;
  promptTokens: number;
  /** Those of the prompt that needed no evaluation; 0 where the server does not say. */
  cachedTokens: number;
  text: string;
}

export interface ChatTurn {
  role: "system" | "user" | "assistant";
  content: string;
}

type SamplingName =
  | ("temperature" | "top_k" | "min_p" | "seed")
  | ("repeat_penalty" | "repeat_last_n" | "presence_penalty" | "frequency_penalty")
  | ("dry_multiplier" | "dry_base" | "dry_allowed_length");

export interface AnswerOptions {
  maxTokens: number;
  /** Default: always the likeliest token. */
  sampling?: Partial<Record<SamplingName, number>>;
  onFirstToken?: () => void;
}

export async function chat(
  { baseUrl, model }: ChatServer,
  messages: readonly ChatTurn[] | string,
  { maxTokens, sampling = { temperature: 0 }, onFirstToken }: AnswerOptions,
): Promise<Answered> {
  const startedAt = performance.now();
  const response = await post(`${baseUrl}/chat/completions`, {
    model,
    messages: typeof messages === "string" ? [{ role: "user", content: messages }] : messages,
    max_tokens: maxTokens,
    ...sampling,
    stream: true,
    stream_options: { include_usage: true },
  });
  let firstMs: number | undefined;
  let rest = "";
  let usage: Pick<Answered, "tokens" | "promptTokens" | "cachedTokens"> | undefined;
  let text = "";
  const decoder = new TextDecoder();
  for await (const bytes of response.body ?? []) {
    rest += decoder.decode(bytes, { stream: true });
    const lines = rest.split("\n\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      if (!line.startsWith("data: {")) continue;
      const chunk = JSON.parse(line.slice("data: ".length));
      const content: string = chunk.choices?.[0]?.delta?.content ?? "";
      if (content !== "" && firstMs === undefined) {
        firstMs = performance.now() - startedAt;
        onFirstToken?.();
      }
      text += content;
      if (chunk.usage) {
        const { completion_tokens: tokens, prompt_tokens: promptTokens } = chunk.usage;
        const cachedTokens: number = chunk.usage.prompt_tokens_details?.cached_tokens ?? 0;
        usage = { tokens, promptTokens, cachedTokens };
      }
    }
  }
  if (usage === undefined) throw new Error(`${baseUrl}: an answer ended without its usage`);
  const totalMs = performance.now() - startedAt;
  return { ...usage, text, firstMs: firstMs ?? totalMs, totalMs };
}

/** So many clients at once, each with a prompt of its own; tokens a second of them all. */
export async function chatRate(
  server: ChatServer,
  prompts: readonly string[],
  maxTokens: number,
): Promise<{ rate: number; answers: Answered[] }> {
  const startedAt = performance.now();
  const answers = await Promise.all(prompts.map((text) => chat(server, text, { maxTokens })));
  const made = answers.reduce((sum, answer) => sum + answer.tokens, 0);
  return { rate: (made / (performance.now() - startedAt)) * 1000, answers };
}

/** Texts a second, so many in each request and so many clients at once. */
export async function embeddingRate(
  { baseUrl, model }: ChatServer,
  texts: readonly string[],
  { perRequest, clients }: { perRequest: number; clients: number },
): Promise<number> {
  const requests: string[][] = [];
  for (let start = 0; start < texts.length; start += perRequest) {
    requests.push(texts.slice(start, start + perRequest));
  }
  const startedAt = performance.now();
  await Promise.all(
    Array.from({ length: clients }, async () => {
      for (let input = requests.shift(); input !== undefined; input = requests.shift()) {
        await (await post(`${baseUrl}/embeddings`, { model, input })).arrayBuffer();
      }
    }),
  );
  return (texts.length / (performance.now() - startedAt)) * 1000;
}

/** A connection of its own for each request: some streamed answers of llama-server break one that is reused. */
export async function post(url: string, body: unknown): Promise<Response> {
  const response = await fetch(url, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      authorization: "Bearer unused",
      connection: "close",
    },
    body: JSON.stringify(body),
    keepalive: false,
  });
  if (!response.ok) throw new Error(`${url}: ${response.status} ${await response.text()}`);
  return response;
}
