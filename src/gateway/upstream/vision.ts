/** Finds out whether an upstream model reads images, by what its servers say of themselves. */
import { flagAt, listAt, objectAt, textAt } from "../../client/json-fields.ts";
import { rootOf, type Upstream } from "./ask.ts";
import { ConnectionFailure } from "./http-exchange.ts";
import { askAbout, type ServerKind } from "./server-facts.ts";

/** Undefined: the server does not say. */
type Answer = boolean | undefined;
type Ask = (address: string, body?: object) => ReturnType<typeof askAbout>;

/** Whether all replicas that answer say so: one of the same model that differs would refuse images. */
export async function readsImages(
  upstream: Upstream,
  kind: ServerKind,
  signal: AbortSignal,
): Promise<boolean> {
  const { key, named, upstreamModel: model, replicas, log } = upstream;
  const ask: Ask = (url, sent) => askAbout({ key, signal }, url, sent);
  const answers = await Promise.all(
    replicas.urls().map(async (url): Promise<Answer> => {
      try {
        return await questions[kind]?.(ask, url, model);
      } catch (error) {
        if (error instanceof ConnectionFailure) return undefined;
        throw error;
      }
    }),
  );
  const told = answers.filter((answer) => answer !== undefined);
  if (told.includes(true) && told.includes(false)) {
    const fields = { of: named, reading: told.filter(Boolean).length, asked: told.length };
    log.warn("only some replicas of a model read images, so it is given none", fields);
  }
  return told.length > 0 && !told.includes(false);
}

/** Other kinds do not say it. */
const questions: Partial<
  Record<ServerKind, (ask: Ask, url: string, model: string) => Promise<Answer>>
> = {
  "llama-server": async (ask, url) => {
    const { body } = await ask(`${rootOf(url)}/props`);
    return flagAt(objectAt(body, "modalities"), "vision");
  },
  sglang: async (ask, url) => {
    const saysAt = async (path: string): Promise<Answer> =>
      flagAt((await ask(`${rootOf(url)}${path}`)).body, "has_image_understanding");
    // The second is the older name.
    return (await saysAt("/model_info")) ?? (await saysAt("/get_model_info"));
  },
  paddock: async (ask, url, model) => {
    const { body } = await ask(`${url}/info`);
    const listed = listAt(body, "models").find((one) => textAt(one, "name") === model);
    return flagAt(listed, "vision");
  },
  // It lists no such thing, and refuses to tokenize an image for a model that reads none.
  vllm: async (ask, url, model) => {
    const content = [{ type: "image_url", image_url: { url: pixel } }];
    const messages = [{ role: "user", content }];
    const { status } = await ask(`${rootOf(url)}/tokenize`, { model, messages });
    if (status === 200) return true;
    return status === 400 ? false : undefined;
  },
};

/** A PNG of 28 × 28 black pixels: some models refuse images with sides of less than that. */
const pixel =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAABwAAAAcCAIAAAD9b0jDAAAAGUlEQVR42u3BMQEAAADCoPVPbQdvoAAAeA0JTAABY3ZqfQAAAABJRU5ErkJggg==";
