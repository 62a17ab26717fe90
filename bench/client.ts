/** Drives a server of the convention over HTTP, as a user's program would. */

export interface ChatServer {
  baseUrl: string;
  model: string;
}

export interface Answered {
  tokens: number;
  firstMs: number;
  totalMs: number;
  cachedTokens: number;
  text: string;
}

export interface ChatTurn {
  role: "system" | "user" | "assistant";
  content: string;
}

export async function chat(
  { baseUrl, model }: ChatServer,
  messages: readonly ChatTurn[],
  maxTokens: number,
): Promise<Answered> {
  const startedAt = performance.now();
  const response = await post(`${baseUrl}/chat/completions`, {
    model,
    messages,
    max_tokens: maxTokens,
    temperature: 0,
    stream: true,
    stream_options: { include_usage: true },
  });
  let firstMs = 0;
  let rest = "";
  let answered = { tokens: 0, cachedTokens: 0 };
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
      if (content !== "" && firstMs === 0) firstMs = performance.now() - startedAt;
      text += content;
      if (chunk.usage) {
        answered = {
          tokens: chunk.usage.completion_tokens,
          cachedTokens: chunk.usage.prompt_tokens_details?.cached_tokens ?? 0,
        };
      }
    }
  }
  return { ...answered, text, firstMs, totalMs: performance.now() - startedAt };
}

/** So many clients at once, each with a prompt of its own; tokens a second of them all. */
export async function chatRate(
  server: ChatServer,
  prompts: readonly string[],
  tokens: number,
): Promise<number> {
  const startedAt = performance.now();
  const answers = await Promise.all(
    prompts.map((content) => chat(server, [{ role: "user", content }], tokens)),
  );
  const made = answers.reduce((sum, answer) => sum + answer.tokens, 0);
  return (made / (performance.now() - startedAt)) * 1000;
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

export async function post(url: string, body: unknown): Promise<Response> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: "Bearer unused" },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${url}: ${response.status} ${await response.text()}`);
  return response;
}
