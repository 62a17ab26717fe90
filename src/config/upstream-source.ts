/** `openai:http://host:8000/v1`: the source of a model that runs elsewhere. */

const prefix = "openai:";

export const isUpstream = (source: string): boolean => source.startsWith(prefix);

/** Every address that serves the model, each once. */
export function upstreamUrls(model: { source: string; replicas: readonly string[] }): string[] {
  const urls = [addressOf(model.source), ...model.replicas];
  return [...new Set(urls.map((url) => url.replace(/\/+$/, "")))];
}

/** As it is written, checked or not. */
export const addressOf = (source: string): string => source.slice(prefix.length);
